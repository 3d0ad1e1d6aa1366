import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import type { Embedder } from '../../domain/embedder.ts'
import { decodeText } from './admission.ts'
import type { IndexFile } from './index-file.ts'
import { readPlainFile } from './source-tree.ts'
import { readParsed } from './write-files.ts'

/** Texts that a provider gets at once. */
const BATCH = 32
/** A chunk has at most 500 tokens; a window of long lines may have more, and models refuse what is too long. */
const LONGEST_TEXT = 6000
/** Below this share of embedded chunks the vectors are not used: what has none yet would be put behind everything that has. */
const USED_FROM = 0.95
const NEAREST = 200
/** A model that computes on a processor takes seconds for a batch. */
const BATCH_MS = 120_000
/** Stands in the place of a vector of text that the provider may not see. */
const NO_VECTOR = 0

export interface EmbedResult {
  embedded: number
  /** Chunks without a vector. */
  missing: number
  /** Why it ended early. */
  problem?: string
}

/** Who embeds, and which files it may see. */
export interface Embedding {
  embedder: Embedder
  mayEmbed?: ((path: string) => boolean | Promise<boolean>) | undefined
}

/**
 * Embeds the chunks that have no vector. Vectors are kept by the hash of their text, so a chunk that moved, or came back, costs nothing. Every batch is
 * stored at once: when the provider fails, the next call goes on from there. Vectors of a model that is not set up any more are forgotten.
 */
export async function embedChunks(
  index: IndexFile,
  { root, embedder, mayEmbed = () => true }: { root: string } & Embedding,
  signal?: AbortSignal,
): Promise<EmbedResult> {
  const model = index.readMeta('vector_model')
  if (model !== undefined && !embedder.models.includes(model)) await forgetVectors(index)
  if (countMissing(index) === 0) return { embedded: 0, missing: 0 }
  let embedded = 0
  let batch: ChunkText[] = []
  const flush = async (): Promise<string | undefined> => {
    const problem = await embedBatch(index, batch, embedder, signal)
    if (problem === undefined) embedded += batch.length
    batch = []
    return problem
  }
  for (const file of filesWithoutVectors(index)) {
    const isSent = await mayEmbed(file.path)
    for (const chunk of chunkTexts(index, root, file)) {
      if (!isSent) {
        assignVector(index, chunk, NO_VECTOR)
        continue
      }
      if (signal?.aborted) return { embedded, missing: countMissing(index), problem: 'it was called off' }
      if (assignKnownVector(index, chunk)) continue
      batch.push(chunk)
      const problem = batch.length === BATCH ? await flush() : undefined
      if (problem !== undefined) return { embedded, missing: countMissing(index), problem }
    }
    await nextTurn()
  }
  const problem = batch.length > 0 ? await flush() : undefined
  await removeUnused(index)
  return { embedded, missing: countMissing(index), ...(problem !== undefined && { problem }) }
}

/** While the vectors are being made. */
export const NOT_YET = 'the code is not embedded yet'

/** A file and the number of its chunk that is near. */
export interface NearFile {
  id: number
  chunk: number
}

/**
 * The files whose chunks are nearest to a query, the nearest first; or why that is not known: then words alone decide.
 */
export async function nearestFiles(
  index: IndexFile,
  query: string,
  embedder: Embedder,
  signal?: AbortSignal,
): Promise<NearFile[] | { problem: string }> {
  const model = index.readMeta('vector_model')
  const total = index.row<{ chunks: number | null }>('select sum(chunks) as chunks from files')?.chunks ?? 0
  if (model === undefined || countMissing(index) > total * (1 - USED_FROM)) return { problem: NOT_YET }
  const made = await embedder.embed([query.slice(0, LONGEST_TEXT)], { purpose: 'query', model, signal })
  if ('problem' in made) return made
  const [vector] = made.vectors
  const loaded = await loadVectors(index)
  if (loaded !== undefined || !vector) return { problem: loaded ?? 'the provider returned nothing' }
  const rows = index.rows<NearFile>(
    `select files.id, chunk_vectors.chunk_id - files.first_chunk as chunk
     from (select rowid, distance from vectors where embedding match ? and k = ${NEAREST}) near
     join chunk_vectors on chunk_vectors.vector_id = near.rowid
     join files on files.id = chunk_vectors.file_id order by near.distance`,
    toBlob(vector),
  )
  const first = new Map<number, NearFile>()
  for (const row of rows) if (!first.has(row.id)) first.set(row.id, row)
  return [...first.values()]
}

/** The constant of reciprocal rank fusion that its authors found, and everybody uses. */
const FUSION_K = 60

/** Joins rankings by ranks, because scores of words and distances of vectors cannot be compared. Pure. */
export function fuseRanks(rankings: readonly (readonly number[])[]): Map<number, number> {
  const scores = new Map<number, number>()
  for (const ranking of rankings)
    for (const [rank, id] of ranking.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (FUSION_K + rank + 1))
  return scores
}

interface ChunkText {
  file: number
  chunk: number
  text: string
  hash: Buffer
}

interface FileRow {
  id: number
  path: string
  first_chunk: number
}

function filesWithoutVectors(index: IndexFile): FileRow[] {
  return index.rows<FileRow>(
    `select id, path, first_chunk from files
     where chunks > (select count(*) from chunk_vectors where chunk_vectors.file_id = files.id) order by id`,
  )
}

function countMissing(index: IndexFile): number {
  const sql = 'select (select coalesce(sum(chunks), 0) from files) - (select count(*) from chunk_vectors) as missing'
  return index.row<{ missing: number }>(sql)?.missing ?? 0
}

function* chunkTexts(index: IndexFile, root: string, { id, path, first_chunk }: FileRow): Generator<ChunkText> {
  const content = readPlainFile(root, path)?.content
  const parsed = content && readParsed(index, id)
  if (!content || !parsed) return
  const lines = decodeText(content).split('\n')
  for (const [number, { startLine, endLine, header }] of parsed.chunks.entries()) {
    const text = `${header}\n${lines.slice(startLine - 1, endLine).join('\n')}`.slice(0, LONGEST_TEXT).toWellFormed()
    const hash = createHash('sha256').update(text).digest()
    yield { file: id, chunk: first_chunk + number, text, hash }
  }
}

/** A chunk whose text has a vector already, here or elsewhere. */
function assignKnownVector(index: IndexFile, { file, chunk, hash }: ChunkText): boolean {
  const known = index.row<{ id: number }>('select id from vector_texts where hash = ?', hash)
  if (known) assignVector(index, { file, chunk }, known.id)
  return known !== undefined
}

function assignVector(index: IndexFile, { file, chunk }: Pick<ChunkText, 'file' | 'chunk'>, vector: number): void {
  const sql = 'insert or ignore into chunk_vectors (file_id, chunk_id, vector_id) values (?, ?, ?)'
  index.run(sql, file, chunk, vector)
}

async function forgetVectors(index: IndexFile): Promise<void> {
  if ((await loadVectors(index)) !== undefined) return
  index.transaction(() => {
    for (const sql of ['drop table if exists vectors', 'delete from vector_texts', 'delete from chunk_vectors'])
      index.run(sql)
    index.run(`delete from meta where name = 'vector_model'`)
  })
}

/** A text that is gone keeps its vector, because it may come back; when most are gone, those are removed. */
async function removeUnused(index: IndexFile): Promise<void> {
  const count = (sql: string) => index.row<{ n: number }>(`select count(*) as n from ${sql}`)?.n ?? 0
  if (count('vector_texts') <= 2 * count('chunk_vectors') + KEPT_UNUSED || (await loadVectors(index))) return
  const unused = 'select id from vector_texts where id not in (select vector_id from chunk_vectors)'
  index.transaction(() => {
    index.run(`delete from vectors where rowid in (${unused})`)
    index.run(`delete from vector_texts where id in (${unused})`)
  })
}

const KEPT_UNUSED = 1000

/** Embeds and stores a batch; what went wrong, or undefined. */
async function embedBatch(
  index: IndexFile,
  batch: readonly ChunkText[],
  embedder: Embedder,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const model = index.readMeta('vector_model')
  const texts = batch.map(({ text }) => text)
  const until = AbortSignal.any([AbortSignal.timeout(BATCH_MS), ...(signal ? [signal] : [])])
  const made = await embedder.embed(texts, { purpose: 'document', model, signal: until })
  if ('problem' in made) return made.problem
  const size = made.vectors[0]?.length ?? 0
  if (made.vectors.length !== batch.length || size === 0 || made.vectors.some(vector => vector.length !== size))
    return 'the provider returned other vectors than it was asked for'
  const unavailable = await loadVectors(index)
  if (unavailable !== undefined) return unavailable
  index.transaction(() => {
    if (model === undefined) {
      index.run(
        `create virtual table if not exists vectors using vec0(embedding float[${size}] distance_metric=cosine)`,
      )
      index.writeMeta('vector_model', made.model)
    }
    for (const [at, chunk] of batch.entries()) {
      const vector = made.vectors[at] ?? []
      if (assignKnownVector(index, chunk)) continue // the same text twice in a batch
      const id = index.run('insert into vector_texts (hash) values (?)', chunk.hash)
      index.run('insert into vectors (rowid, embedding) values (?, ?)', BigInt(id), toBlob(vector))
      assignKnownVector(index, chunk)
    }
  })
  return undefined
}

function toBlob(vector: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(vector).buffer)
}

/** Loads sqlite-vec into the index. It is native code, and not there for every machine: then the reason is returned. */
async function loadVectors(index: IndexFile): Promise<string | undefined> {
  try {
    const { getLoadablePath } = await import('sqlite-vec')
    index.loadExtension(getLoadablePath())
    return undefined
  } catch (error) {
    return `vectors cannot be stored on this machine: ${messageOf(error)}`
  }
}
