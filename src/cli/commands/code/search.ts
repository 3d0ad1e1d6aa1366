import { resolve } from 'node:path'
import type { Command } from 'commander'
import { neutral } from '../../../base/neutral.ts'
import type { SearchResult } from '../../../knowledge/index/search.ts'
import { openClient } from '../../connection/client.ts'
import { commandContext } from '../../context.ts'
import { optionParser } from '../../options.ts'
import { counted } from '../../render/format.ts'
import { cut, pad, type Terminal, widthOf } from '../../render/text.ts'
import { readProgress, showWhile } from './index-code.ts'

/** To which state of the project an answer refers. */
export interface CodeState {
  project: string
  commit: string | null
  dirty_files: number
  stale: boolean
}

/** What `GET /code/search` replies. */
export interface FoundCode extends CodeState {
  results: (SearchResult & { note?: string })[]
  /** Said once: why words alone decide. */
  note?: string
}

interface SearchOptions {
  top: number
  path?: string
  symbol?: true
  project?: string
}

/** `pcc search`: the code and the notes that some words are about. */
export function addSearchCommand(program: Command): void {
  program
    .command('search')
    .description('Find the code that a question or some words are about, and notes; the best file comes first')
    .argument('<words...>', 'a question, an error message, or names')
    .option('--top <n>', 'show at most n results', parseTop, 5)
    .option('--path <path>', 'only below this folder, or files that match this pattern with *')
    .option('--symbol', 'show the definitions of this name')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--json', 'print JSON')
    .action(async (words: string[], options: SearchOptions, command: Command) => {
      const { json, out, note, terminal, ...context } = await commandContext(command)
      const { top, path, symbol } = options
      const project = resolve(options.project ?? '.')
      const query = fitQuery(words.join(' '))
      if (query.isCut) note('The text is too long for a search: only its beginning is used.')
      const wanted = new URLSearchParams({
        ...{ project, query: query.text, top: String(top) },
        ...(path !== undefined && { path }),
        ...(symbol && { symbol: 'true' }),
      })
      const client = await openClient(context.paths, context)
      const search = client.request<FoundCode>('GET', `/code/search?${wanted}`)
      await showWhile(search, () => readProgress(project, client), { ...context, json })
      const found = await search
      if (json) return out(JSON.stringify(found, null, 2))
      for (const line of searchLines(found, query.text, terminal)) out(line)
      if (found.note !== undefined) note(neutral(found.note))
    })
}

const parseTop = optionParser(
  text => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined),
  'It must be a number from 1 to 100.',
)

/** The query is a part of the address, which may have 16 KB. */
const LONGEST_ADDRESS = 12_000

export function fitQuery(text: string): { text: string; isCut: boolean } {
  let fitting = text.slice(0, LONGEST_ADDRESS).toWellFormed()
  while (new URLSearchParams({ fitting }).toString().length > LONGEST_ADDRESS)
    fitting = fitting.slice(0, Math.floor(fitting.length * 0.8)).toWellFormed()
  return { text: fitting, isCut: fitting.length < text.length }
}

/** Each result with its place, what it defines, and the lines that match best. */
export function searchLines(found: FoundCode, query: string, terminal: Terminal): string[] {
  const { results } = found
  const state = terminal.paint('dim', describeState(found))
  if (results.length === 0) return [`Nothing was found for "${cut(oneLine(query), 60)}".`, state]
  const highlight = highlighter(query, terminal)
  return [...results.flatMap(result => [...resultLines(result, highlight, terminal), '']), state]
}

function resultLines(
  { note, ...result }: FoundCode['results'][number],
  highlight: Highlighter,
  { paint, width }: Terminal,
): string[] {
  const { file_path, start_line, end_line, score, chunk_text, metadata } = result
  const what = note === undefined ? (metadata.definition ?? '') : `note: ${note}`
  const place = `${oneLine(file_path)}${start_line > 0 ? `:${start_line}-${end_line}` : ''}`
  const shown = pickLines(chunk_text, highlight)
  const digits = String(start_line + chunk_text.split('\n').length).length
  const room = width - digits - 4
  return [
    `${paint('bold', place)}${what === '' ? '' : `  ${paint('cyan', oneLine(what))}`}  ${paint('dim', score.toFixed(1))}`,
    ...shown.map(({ at, text }) => {
      const line = cut(neutral(text).replaceAll('\t', '  '), room)
      return `  ${paint('dim', pad(String(start_line + at), digits))}  ${widthOf(line) === 0 ? '' : highlight.paint(line)}`.trimEnd()
    }),
  ]
}

function oneLine(text: string): string {
  return neutral(text).replace(/\s+/g, ' ')
}

export interface Highlighter {
  /** How many different words of the query a line has. */
  count(line: string): number
  paint(line: string): string
}

/** Marks the words of a query in code, also inside of names; without their usual endings, as the index compares them. */
export function highlighter(query: string, { paint }: Terminal): Highlighter {
  const words = new Set(
    (query.match(/[\p{L}\p{N}]+/gu) ?? [])
      .filter(word => word.length > 2 && !COMMON.has(word.toLowerCase()))
      .map(word => word.toLowerCase().replace(/(?<=.{3})(?:ing|ed|s)$/, '')),
  )
  const parts = [...words].sort((a, b) => b.length - a.length)
  const pattern = parts.length === 0 ? undefined : new RegExp(parts.join('|'), 'giu')
  return {
    count: line => (pattern ? new Set(Array.from(line.matchAll(pattern), ([word]) => word.toLowerCase())).size : 0),
    paint: line => (pattern ? line.replace(pattern, word => paint('yellow', word)) : line),
  }
}

const COMMON = new Set(
  'the and are for how that this what when where which with does was has from into who why'.split(' '),
)

const SHOWN_LINES = 6

/** The few lines of a chunk in a row that have the most words of the query. */
export function pickLines(text: string, { count }: Pick<Highlighter, 'count'>): { at: number; text: string }[] {
  const lines = text.replace(/\s+$/, '').split('\n')
  const counts = lines.map(count)
  const sumFrom = (start: number) => counts.slice(start, start + SHOWN_LINES).reduce((sum, each) => sum + each, 0)
  let best = 0
  for (let start = 1; start + SHOWN_LINES <= lines.length; start++) if (sumFrom(start) > sumFrom(best)) best = start
  return lines.slice(best, best + SHOWN_LINES).map((line, offset) => ({ at: best + offset, text: line }))
}

/** `Index of commit 1f0311ea, 2 files differ from it` */
export function describeState({
  commit,
  dirty_files,
  stale,
}: Pick<CodeState, 'commit' | 'dirty_files' | 'stale'>): string {
  const at = commit === null ? 'Index of the files as they are' : `Index of commit ${commit.slice(0, 8)}`
  const dirty = commit !== null && dirty_files > 0 ? `, ${counted(dirty_files, 'file')} changed since` : ''
  return `${at}${dirty}${stale ? '; it is still being brought up to date' : ''}`
}
