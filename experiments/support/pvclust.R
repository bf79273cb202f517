# AU and BP of average linkage by pvclust, for bootstrap.py: Rscript pvclust.R expression.csv.gz pvclust.csv
given <- commandArgs(trailingOnly = TRUE)
table <- read.csv(given[1], check.names = FALSE)
x <- t(as.matrix(table[, -(1:2)]))
colnames(x) <- table[, 1]
found <- pvclust::pvclust(x, method.hclust = "average", method.dist = "correlation", nboot = 1000, iseed = 1, quiet = TRUE)
merge <- found$hclust$merge
members <- vector("list", nrow(merge))
below <- function(i) if (i < 0) found$hclust$labels[-i] else members[[i]]
for (i in seq_len(nrow(merge))) members[[i]] <- c(below(merge[i, 1]), below(merge[i, 2]))
rows <- data.frame(members = sapply(members, paste, collapse = ";"), au = found$edges$au, bp = found$edges$bp)
write.csv(rows, given[2], row.names = FALSE)
