"""What the ending of a file's name says about it."""

#: Separator of each kind of text file.
SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")

#: Name endings of the formats that Arrow reads with a schema of their own.
FORMATS = {
    **dict.fromkeys(PARQUET, "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "ipc"),
}

#: Name endings of files that are read whole, by one analyst.
EXCEL = (".xlsx", ".xlsm")
DATABASES = (".db", ".sqlite", ".sqlite3")
