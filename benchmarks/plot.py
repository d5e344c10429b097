"""Draws the ratios of a run: one bar a case, best fair peer over Scorch, a line at 1."""

from pathlib import Path


def draw(results: list[dict], folder: str) -> None:
    """Writes FOLDER/SUITE.png for every suite; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    Path(folder).mkdir(parents=True, exist_ok=True)
    for suite in dict.fromkeys(r["suite"] for r in results):
        rows = [r for r in results if r["suite"] == suite and any(r["ratios"].values())]
        if not rows:
            continue
        ratios = [min(next(iter(r["ratios"].values())).values()) for r in rows]
        figure, axes = pyplot.subplots(figsize=(8, 1 + 0.22 * len(rows)))
        axes.barh([r["case"] for r in rows], ratios, color=["#3b6" if r >= 1 else "#c44" for r in ratios])
        axes.axvline(1, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.tick_params(labelsize=7)
        axes.set_title(f"{suite}: time of the best peer / time of Scorch")
        figure.tight_layout()
        figure.savefig(Path(folder) / f"{suite}.png", dpi=120)
        pyplot.close(figure)
