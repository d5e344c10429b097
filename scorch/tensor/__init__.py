"""What a sparse tensor is: formats, the class, and what works on its entries alone."""
