"""A first, quick table: FedSSIR on Table 1 of the paper."""
