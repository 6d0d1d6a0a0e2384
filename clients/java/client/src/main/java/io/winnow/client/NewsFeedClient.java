package io.winnow.client;

import com.google.protobuf.FieldMask;
import com.google.protobuf.Timestamp;
import io.grpc.CallOptions;
import io.grpc.stub.ClientCalls;
import io.winnow.newsfeed.v1.Article;
import io.winnow.newsfeed.v1.BatchGetArticlesRequest;
import io.winnow.newsfeed.v1.BatchUpsertArticlesRequest;
import io.winnow.newsfeed.v1.Category;
import io.winnow.newsfeed.v1.CountNewArticlesRequest;
import io.winnow.newsfeed.v1.CountNewArticlesResponse;
import io.winnow.newsfeed.v1.CreateCategoryRequest;
import io.winnow.newsfeed.v1.DeleteArticleRequest;
import io.winnow.newsfeed.v1.DeleteCategoryRequest;
import io.winnow.newsfeed.v1.DeleteCategoryResponse;
import io.winnow.newsfeed.v1.FeedCounter;
import io.winnow.newsfeed.v1.GetArticleRequest;
import io.winnow.newsfeed.v1.GetArticleResult;
import io.winnow.newsfeed.v1.GetFeedStatsRequest;
import io.winnow.newsfeed.v1.GetFeedStatusRequest;
import io.winnow.newsfeed.v1.GetFeedStatusResponse;
import io.winnow.newsfeed.v1.IngestArticlesRequest;
import io.winnow.newsfeed.v1.ListArticlesRequest;
import io.winnow.newsfeed.v1.ListArticlesResponse;
import io.winnow.newsfeed.v1.ListCategoriesRequest;
import io.winnow.newsfeed.v1.LookupArticleRequest;
import io.winnow.newsfeed.v1.MoveCategoryRequest;
import io.winnow.newsfeed.v1.MoveCategoryResponse;
import io.winnow.newsfeed.v1.NewsFeedServiceGrpc;
import io.winnow.newsfeed.v1.RefreshFeedRequest;
import io.winnow.newsfeed.v1.RefreshFeedResponse;
import io.winnow.newsfeed.v1.SearchArticlesRequest;
import io.winnow.newsfeed.v1.UndeleteArticleRequest;
import io.winnow.newsfeed.v1.UpdateCategoryRequest;
import io.winnow.newsfeed.v1.UpsertArticleResult;
import io.winnow.newsfeed.v1.UpsertedArticle;
import io.winnow.newsfeed.v1.WatchArticlesRequest;
import io.winnow.newsfeed.v1.WatchArticlesResponse;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiConsumer;

/** NewsFeedService: feeds that scroll without end. */
public final class NewsFeedClient {
  private final Connection connection;

  NewsFeedClient(Connection connection) {
    this.connection = connection;
  }

  /** One page of a feed, newest first, with its tokens. */
  public ListArticlesResponse listArticles(ListArticlesRequest request) {
    return connection.call(NewsFeedServiceGrpc.getListArticlesMethod(), request);
  }

  /** A whole scroll, from the newest article (or the request's page token) to the last. */
  public Pages<Article> articles(ListArticlesRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = listArticles(request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getArticlesList(), page.getNextPageToken());
        });
  }

  /** How many articles came since the request's token, of a page of the same feed. */
  public CountNewArticlesResponse countNewArticles(CountNewArticlesRequest request) {
    return connection.call(NewsFeedServiceGrpc.getCountNewArticlesMethod(), request);
  }

  /**
   * What happens to a feed from the request's token on, until the thread's gRPC context is
   * cancelled. After an error go on with the last response's token.
   */
  public Iterator<WatchArticlesResponse> watchArticles(WatchArticlesRequest request) {
    return ClientCalls.blockingServerStreamingCall(
        connection.authorized(),
        NewsFeedServiceGrpc.getWatchArticlesMethod(),
        CallOptions.DEFAULT,
        request);
  }

  /** All that the request finds in titles and snippets, newest first, from its page token on. */
  public Pages<Article> search(SearchArticlesRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  NewsFeedServiceGrpc.getSearchArticlesMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getArticlesList(), page.getNextPageToken());
        });
  }

  /** What came per day, by category, source or channel; largest first. */
  public List<FeedCounter> feedStats(GetFeedStatsRequest request) {
    return connection.call(NewsFeedServiceGrpc.getGetFeedStatsMethod(), request).getCountersList();
  }

  /** Has the answering process read a feed into memory, and into Redis, again. */
  public RefreshFeedResponse refreshFeed(RefreshFeedRequest request) {
    return connection.call(NewsFeedServiceGrpc.getRefreshFeedMethod(), request);
  }

  /** How the answering process serves a feed. */
  public GetFeedStatusResponse feedStatus(GetFeedStatusRequest request) {
    return connection.call(NewsFeedServiceGrpc.getGetFeedStatusMethod(), request);
  }

  /** Reads one article. */
  public Article getArticle(String namespace, String id) {
    var request = GetArticleRequest.newBuilder().setNamespace(namespace).setId(id).build();
    return connection.call(NewsFeedServiceGrpc.getGetArticleMethod(), request).getArticle();
  }

  /** Reads up to 1,000 articles; one result each, in order. */
  public List<Result<Article>> batchGetArticles(String namespace, List<String> ids) {
    var request =
        BatchGetArticlesRequest.newBuilder().setNamespace(namespace).addAllIds(ids).build();
    return connection
        .call(NewsFeedServiceGrpc.getBatchGetArticlesMethod(), request)
        .getResultsList()
        .stream()
        .map(NewsFeedClient::article)
        .toList();
  }

  /** Reads the article of a web page, whatever form its URL has. */
  public Article lookupArticle(String namespace, String url) {
    var request = LookupArticleRequest.newBuilder().setNamespace(namespace).setUrl(url).build();
    return connection.call(NewsFeedServiceGrpc.getLookupArticleMethod(), request).getArticle();
  }

  /**
   * Stores a stream of articles of any length and reports each to {@code answered} with its result,
   * in order. Goes on over a lost connection: what was not answered is sent again.
   */
  public void ingestArticles(
      Iterator<Article> articles, BiConsumer<Article, Result<UpsertedArticle>> answered) {
    Ingest.run(
        connection,
        NewsFeedServiceGrpc.getIngestArticlesMethod(),
        articles,
        article -> IngestArticlesRequest.newBuilder().setArticle(article).build(),
        (article, response) -> answered.accept(article, result(response.getResult())));
  }

  /**
   * Stores up to 1,000 articles; one result each, in order. Safe to repeat. One with a revision
   * changes only the article of that revision.
   */
  public List<Result<UpsertedArticle>> batchUpsertArticles(List<Article> articles) {
    var request = BatchUpsertArticlesRequest.newBuilder().addAllArticles(articles).build();
    return connection
        .call(NewsFeedServiceGrpc.getBatchUpsertArticlesMethod(), request)
        .getResultsList()
        .stream()
        .map(NewsFeedClient::result)
        .toList();
  }

  /** Takes an article out of every feed; answers when it was deleted (first). Safe to repeat. */
  public Timestamp deleteArticle(String namespace, String id) {
    var request = DeleteArticleRequest.newBuilder().setNamespace(namespace).setId(id).build();
    return connection
        .call(NewsFeedServiceGrpc.getDeleteArticleMethod(), request)
        .getDeleteTime();
  }

  /** Brings a deleted article back into its feeds, where it counts as new. Safe to repeat. */
  public Article undeleteArticle(String namespace, String id) {
    var request = UndeleteArticleRequest.newBuilder().setNamespace(namespace).setId(id).build();
    return connection.call(NewsFeedServiceGrpc.getUndeleteArticleMethod(), request).getArticle();
  }

  /** Changes the display name of a category; with an etag only if it is as it was read. */
  public Category renameCategory(Category category) {
    var request =
        UpdateCategoryRequest.newBuilder()
            .setCategory(category)
            .setUpdateMask(FieldMask.newBuilder().addPaths("display_name"))
            .build();
    return connection.call(NewsFeedServiceGrpc.getUpdateCategoryMethod(), request).getCategory();
  }

  /** Puts a category below another. Pending: the rest of its articles follows by itself. */
  public MoveCategoryResponse moveCategory(MoveCategoryRequest request) {
    return connection.call(NewsFeedServiceGrpc.getMoveCategoryMethod(), request);
  }

  /** Deletes a category. Never tried again by itself: the second try would not find it. */
  public DeleteCategoryResponse deleteCategory(DeleteCategoryRequest request) {
    return connection.callOnce(NewsFeedServiceGrpc.getDeleteCategoryMethod(), request);
  }

  /** Creates a category, or answers the one that is there with this name and parent. */
  public Category createCategory(Category category) {
    var request = CreateCategoryRequest.newBuilder().setCategory(category).build();
    return connection.call(NewsFeedServiceGrpc.getCreateCategoryMethod(), request).getCategory();
  }

  /** All categories of a namespace, each before those below it. */
  public Pages<Category> categories(ListCategoriesRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  NewsFeedServiceGrpc.getListCategoriesMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getCategoriesList(), page.getNextPageToken());
        });
  }

  private static Result<Article> article(GetArticleResult result) {
    return result.hasError()
        ? new Result.Failed<>(WinnowException.from(result.getError()))
        : new Result.Ok<>(result.getArticle());
  }

  private static Result<UpsertedArticle> result(UpsertArticleResult result) {
    return result.hasError()
        ? new Result.Failed<>(WinnowException.from(result.getError()))
        : new Result.Ok<>(result.getUpserted());
  }
}
