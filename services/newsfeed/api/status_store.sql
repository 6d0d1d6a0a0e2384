-- name: newsfeed.count_tree_work
SELECT count(*) FROM newsfeed.tree_work
