from engine.protocol.data_messages import (
    DataProgress,
    DatasetPreviewed,
    DataStatistics,
    FormatMatch,
    Histogram,
    Issue,
    Place,
    PreviewRow,
    RowsPaged,
    RowSummary,
    SplitStatistics,
    TokensInspected,
)

__all__ = [
    "DataProgress",
    "DataStatistics",
    "DatasetPreviewed",
    "FormatMatch",
    "Histogram",
    "Issue",
    "Place",
    "PreviewRow",
    "RowSummary",
    "RowsPaged",
    "SplitStatistics",
    "TokensInspected",
]
