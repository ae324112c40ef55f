module early.internal

go 1.26.0
