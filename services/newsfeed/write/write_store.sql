-- name: newsfeed.delete_article
UPDATE newsfeed.news_articles SET is_deleted = TRUE, deleted_at = $3::timestamptz
WHERE namespace = $1 AND id = $2

-- name: newsfeed.restore_article
UPDATE newsfeed.news_articles
SET is_deleted = FALSE, deleted_at = NULL, updated_at = $3::timestamptz, revision = $4
WHERE namespace = $1 AND id = $2
