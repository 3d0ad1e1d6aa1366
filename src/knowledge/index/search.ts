import { matchesGlob } from 'node:path'
import type { CodeChunk, CodeDefinition, ParsedFile } from '../../base/syntax/parsed-file.ts'
import { wholeOf } from '../../base/tokens.ts'
import { decodeText } from './admission.ts'
import type { IndexFile } from './index-file.ts'
import { filesThatDefine, filesWithin, type RankedFile, rankFiles, type Weights } from './rank.ts'
import { readPlainFile } from './source-tree.ts'
import { fuseRanks, type NearFile } from './vectors.ts'
import { readParsed } from './write-files.ts'

export interface SearchOptions {
  top?: number
  /** Only files below this folder, or that match this pattern with `*`. */
  path?: string
  /** The query is the name of a definition. */
  symbol?: boolean
  weights?: Weights
  /** Files with chunks that are near to the query in another way, the nearest first. */
  nearest?: readonly NearFile[]
}

export interface SearchResult {
  score: number
  file_path: string
  start_line: number
  end_line: number
  /** Empty if only the name of the file matches, or if it is gone. */
  chunk_text: string
  metadata: {
    language: string
    /** Path, enclosing class and signature. */
    header: string
    definition?: string
    kind?: string
  }
}

const TOP = 5
const MOST_TOP = 100
/** A chunk has at most 500 tokens; a window of very long lines could have more characters than anybody wants. */
const LONGEST_CHUNK = 8000

/** Searches the index as it is. One result for each file comes first; further chunks of the same files only where files run out. */
export function searchIndex(
  index: IndexFile,
  root: string,
  query: string,
  options: SearchOptions = {},
): SearchResult[] {
  const top = Math.max(1, Math.min(options.top ?? TOP, MOST_TOP))
  const isWanted = pathFilter(options.path)
  const read = readerOf(root)
  if (options.symbol) return findSymbol(index, query, isWanted, read).slice(0, top)
  const within = isWanted && filesWithin(index, isWanted)
  const ranked = rankFiles(index, query, { weights: options.weights, within })
  const files = (options.nearest ? joinNearest(index, ranked, options.nearest) : ranked).filter(
    ({ id }) => !within || within.files.has(id),
  )
  const first = files.slice(0, top).map(file => ({ file, at: 0 }))
  const more = files
    .slice(0, top)
    .flatMap(file => file.chunks.slice(1).map((_, at) => ({ file, at: at + 1 })))
    .sort((a, b) => (b.file.chunks[b.at]?.score ?? 0) - (a.file.chunks[a.at]?.score ?? 0))
  return [...first, ...more].slice(0, top).map(({ file, at }) => resultOf(index, file, at, read))
}

/** The score of a good match, where words found none. */
const USUAL_SCORE = 20

/** Both rankings in one. The chunk that is shown is the best by words, if words found one. */
function joinNearest(index: IndexFile, ranked: readonly RankedFile[], nearest: readonly NearFile[]): RankedFile[] {
  const byWords = new Map(ranked.map(file => [file.id, file]))
  const near = new Map(nearest.map(({ id, chunk }) => [id, chunk]))
  const fused = fuseRanks([ranked.map(({ id }) => id), nearest.map(({ id }) => id)])
  // Whoever compares scores gets them in the size that words have.
  const size = (ranked[0]?.score ?? USUAL_SCORE) / Math.max(...fused.values())
  return [...fused]
    .sort((a, b) => b[1] - a[1])
    .flatMap(([id, rank]) => {
      const score = rank * size
      const path = byWords.get(id)?.path ?? index.row<{ path: string }>('select path from files where id = ?', id)?.path
      const chunks = byWords.get(id)?.chunks ?? []
      const nearChunk = near.get(id)
      const shown = chunks.length > 0 || nearChunk === undefined ? chunks : [{ number: nearChunk, score }]
      return path === undefined ? [] : [{ id, path, score, chunks: shown }]
    })
}

function pathFilter(path: string | undefined): ((path: string) => boolean) | undefined {
  if (path === undefined || path === '' || path === '.') return undefined
  if (path.includes('*')) return each => matchesGlob(each, path)
  const folder = path.replace(/^\.\//, '').replace(/\/+$/, '')
  return each => each === folder || each.startsWith(`${folder}/`)
}

type ReadLines = (path: string, from: number, to: number) => string

function readerOf(root: string): ReadLines {
  const texts = new Map<string, string[]>()
  return (path, from, to) => {
    let lines = texts.get(path)
    if (!lines) {
      const content = readPlainFile(root, path)?.content
      lines = content ? decodeText(content).split('\n') : []
      texts.set(path, lines)
    }
    return lines
      .slice(from - 1, to)
      .join('\n')
      .slice(0, LONGEST_CHUNK)
  }
}

function resultOf(index: IndexFile, file: RankedFile, at: number, read: ReadLines): SearchResult {
  const parsed = readParsed(index, file.id)
  const chunk = parsed?.chunks[file.chunks[at]?.number ?? 0]
  if (!parsed || !chunk) {
    const nothing = { start_line: 0, end_line: 0, chunk_text: '' }
    return { score: file.score, file_path: file.path, ...nothing, metadata: { language: 'name', header: file.path } }
  }
  return {
    ...{ score: file.score, file_path: file.path, start_line: chunk.startLine, end_line: chunk.endLine },
    chunk_text: read(file.path, chunk.startLine, chunk.endLine),
    metadata: { language: parsed.language, header: chunk.header, ...definitionOf(parsed, chunk) },
  }
}

function definitionOf({ definitions }: ParsedFile, { definition }: CodeChunk): { definition?: string; kind?: string } {
  if (definition === undefined) return {}
  const kind = definitions.find(({ name }) => name === definition)?.kind
  return { definition, ...(kind !== undefined && { kind }) }
}

/** Every definition of a name. Exported ones come first. */
function findSymbol(
  index: IndexFile,
  query: string,
  isWanted: ((path: string) => boolean) | undefined,
  read: ReadLines,
): SearchResult[] {
  const [container, name] = /[.:#]/.test(query) ? splitName(query) : [undefined, query.trim()]
  const found: { path: string; language: string; definition: CodeDefinition }[] = []
  for (const id of filesThatDefine(index, name)) {
    const path = index.row<{ path: string }>('select path from files where id = ?', id)?.path
    const parsed = path !== undefined && isWanted?.(path) !== false ? readParsed(index, id) : undefined
    for (const definition of parsed?.definitions ?? [])
      if (path !== undefined && wholeOf(definition.name) === wholeOf(name))
        found.push({ path, language: parsed?.language ?? '', definition })
  }
  const score = ({ definition }: (typeof found)[number]) =>
    (definition.name === name ? 2 : 1) +
    (definition.exported ? 1 : 0) +
    (container !== undefined && definition.container === container ? 4 : 0)
  return found
    .map(each => ({ each, score: score(each) }))
    .sort((a, b) => b.score - a.score || (a.each.path < b.each.path ? -1 : 1))
    .map(({ each: { path, language, definition }, score }) => ({
      ...{ score, file_path: path, start_line: definition.startLine, end_line: definition.endLine },
      chunk_text: read(path, definition.startLine, definition.endLine),
      metadata: { language, header: definition.signature, definition: definition.name, kind: definition.kind },
    }))
}

/** `Store.save`, `Store::save` and `Store#save` name a definition inside of another. */
function splitName(query: string): [string | undefined, string] {
  const words = query.trim().split(/[.:#]+/)
  return [words.at(-2) || undefined, words.at(-1) ?? '']
}
