import { openEmbedder } from '../../brain/embedder.ts'
import type { Embedder } from '../../domain/embedder.ts'
import type { CodeIndex } from '../../knowledge/index/code-index.ts'
import { NOT_YET } from '../../knowledge/index/vectors.ts'
import type { Classifier } from '../../policy/classify/classify.ts'
import type { EmbedCall, EmbeddingSetup, EmbedReply } from './code-search.ts'
import { mayReadFile } from './embedding.ts'

/** A provider that failed is not asked again by searches for this long. */
const RETRY_MS = 60_000

/** Who embeds the code of one project, in the process with the indexes, and what became of it. */
export class ProjectEmbedding {
  readonly #root: string
  #setup: EmbeddingSetup | undefined
  #key = ''
  #failedAt = Number.NEGATIVE_INFINITY
  #work: Promise<void> | undefined
  #changed = new AbortController()
  #classifier: Promise<Classifier> | undefined
  /** Undefined if nobody is set up. */
  embedder: Embedder | undefined
  /** Why words alone decide, as far as that is known. */
  problem: string | undefined

  constructor(root: string) {
    this.#root = root
    this.use(undefined)
  }

  /** The settings may have changed since the last call: then nobody is sent anything by the old ones. */
  use(setup: EmbeddingSetup | undefined): void {
    const key = JSON.stringify(setup ?? '')
    if (key === this.#key) return
    this.#key = key
    this.#setup = setup
    this.#changed.abort()
    this.#changed = new AbortController()
    this.embedder = setup && 'providers' in setup ? openEmbedder(setup.providers) : undefined
    this.problem = setup && 'problem' in setup ? setup.problem : undefined
    if (setup === undefined) this.problem = 'no provider of embeddings is set up'
    this.#failedAt = Number.NEGATIVE_INFINITY
  }

  /** Embeds what has no vector yet. Never throws. */
  async embed(index: CodeIndex): Promise<void> {
    this.#work ??= this.#embedAll(index).finally(() => {
      this.#work = undefined
    })
    return this.#work
  }

  /** The same after a search, which may have read what has changed; not if the provider has just failed. */
  async embedAgain(index: CodeIndex): Promise<void> {
    if (performance.now() - this.#failedAt > RETRY_MS) await this.embed(index)
  }

  async #embedAll(index: CodeIndex): Promise<void> {
    const { embedder } = this
    const { signal } = this.#changed
    if (!embedder) return
    try {
      const { problem, missing, embedded } = await index.embed(
        { embedder, mayEmbed: path => this.#mayEmbed(path) },
        signal,
      )
      if (signal.aborted) return
      this.problem = problem
      this.#failedAt = problem === undefined ? Number.NEGATIVE_INFINITY : performance.now()
      // Files were added meanwhile.
      if (problem === undefined && missing > 0 && embedded > 0) await this.#embedAll(index)
    } catch {
      // The index was removed or made anew meanwhile: the next call embeds that.
    }
  }

  /** Embeds texts that are not code. One that names a file which a rule keeps from agents is not sent. Never throws. */
  async embedTexts({ texts, purpose, model }: EmbedCall, signal: AbortSignal): Promise<EmbedReply> {
    const { embedder } = this
    if (!embedder) return { problem: this.problem ?? 'no provider of embeddings is set up' }
    const sent: string[] = []
    const places: (number | undefined)[] = []
    for (const { text, files } of texts) {
      const allowed = await Promise.all(files.map(file => this.#mayEmbed(file)))
      places.push(allowed.every(Boolean) ? sent.push(text) - 1 : undefined)
    }
    if (sent.length === 0) return { model: model ?? embedder.models[0] ?? '', vectors: texts.map(() => null) }
    // Vectors of a model that is not set up any more are made anew by another.
    const isGone = purpose === 'document' && model !== undefined && !embedder.models.includes(model)
    const made = await embedder.embed(sent, { purpose, model: isGone ? undefined : model, signal })
    if ('problem' in made) return made
    return { model: made.model, vectors: places.map(at => (at === undefined ? null : (made.vectors[at] ?? null))) }
  }

  /** Why words alone decided a search; undefined if they did not, or if the vectors are still being made. */
  explain(wordsAlone: string | undefined): string | undefined {
    if (wordsAlone === undefined) return undefined
    return this.problem ?? (wordsAlone === NOT_YET ? undefined : wordsAlone)
  }

  /** What a rule keeps from agents is not sent to a provider either. Most people have no such rule. */
  async #mayEmbed(path: string): Promise<boolean> {
    const { rules = [], home = '' } = this.#setup ?? {}
    if (rules.every(({ effect }) => effect === 'allow')) return true
    this.#classifier ??= import('../../policy/classify/classify.ts').then(({ openClassifier }) => openClassifier())
    return mayReadFile(path, { project: this.#root, home, rules }, (await this.#classifier).classify)
  }
}
