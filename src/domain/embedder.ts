/** Vectors of texts, one for each in their order, and the model that made them: vectors of two models cannot be compared. */
export interface Embeddings {
  model: string
  vectors: readonly (readonly number[])[]
}

/** Who turns texts into vectors. Never throws. */
export interface Embedder {
  /** The models that can be asked. */
  readonly models: readonly string[]
  /**
   * Embeds texts. With `model`, only that model is asked, even where there are others: an index has vectors of one model. `purpose` matters to models that
   * embed a question differently from what it is to find.
   */
  embed(
    texts: readonly string[],
    options: { purpose: 'document' | 'query'; model?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<Embeddings | { problem: string }>
}
