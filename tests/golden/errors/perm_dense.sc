ji
in B: f32 dense (16, 17) perm
