import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openParser } from '../../src/base/syntax/parser.ts'
import { type CodeIndex, indexPath, openIndex } from '../../src/knowledge/index/code-index.ts'
import { startCodeSearch } from '../../src/supervisor/knowledge/code-search.ts'
import { git } from '../../src/workspace/git/git.ts'
import { median } from '../measure.ts'
import type { BenchRow } from '../row.ts'
import { type Corpus, makeCorpus, makeQueries } from './corpus.ts'

const MB = 1_000_000
const QUERIES = 100
const CHANGES = 9

/** The code index: how fast it is made, brought up to date and searched, and how large it is. */
export async function benchKnowledge(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    const small = await measureSize(folder, 10)
    const large = await measureSize(folder, 50)
    return [...small.rows, ...large.rows, await measureMemory(folder, large.corpus)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureSize(folder: string, megabytes: 10 | 50) {
  const corpus = makeCorpus(mkdtempSync(join(folder, 'project-')), megabytes * MB)
  const data = mkdtempSync(join(folder, 'data-'))
  using parser = openParser()
  const about = `${megabytes} MB of source in ${corpus.files.length} files`
  const raw = await timeOf(() => parseAll(corpus, parser))
  await using index = openIndex({
    projectRoot: corpus.root,
    data,
    git: (args, options) => git(corpus.root, args, options),
    parse: (files, signal) => parser.parse(files, signal),
  })
  const first = await timeOf(() => index.update())
  const changeMs = await changeFiles(index, corpus)
  const times = await searchAll(index, makeQueries(corpus, QUERIES))
  const share = statSync(indexPath({ data, projectRoot: corpus.root })).size / corpus.bytes
  const p95 = times[Math.floor(times.length * 0.95)] ?? Number.NaN
  const budgetMs = megabytes === 50 ? 50 : 20
  const rows: BenchRow[] = [
    {
      what: `first index of ${about}, against parsing alone in the same threads`,
      measured: `${(first / 1000).toFixed(1)} s (parsing ${(raw / 1000).toFixed(1)} s)`,
      ratio: raw / first,
      budget: '≥ 0.5×',
      ok: raw / first >= 0.5,
    },
    {
      what: `one changed file, ${about}`,
      measured: `${changeMs.toFixed(0)} ms`,
      budget: '≤ 100 ms',
      ok: changeMs <= 100,
    },
    {
      what: `search, p95 of ${QUERIES}, ${about}`,
      measured: `${p95.toFixed(1)} ms (median ${median(times).toFixed(1)} ms)`,
      budget: `≤ ${budgetMs} ms`,
      ok: p95 <= budgetMs,
    },
    {
      what: `size of the index, ${about}`,
      measured: `${(share * 100).toFixed(0)} % of the source`,
      budget: '≤ 40 %',
      ok: share <= 0.4,
    },
  ]
  return { rows, corpus }
}

/** The process of the daemon that holds the index, as it is while it makes one: its highest memory, against that before the project is opened. */
async function measureMemory(folder: string, { root, bytes, files }: Corpus): Promise<BenchRow> {
  using code = startCodeSearch({ data: mkdtempSync(join(folder, 'data-')) })
  await code.update(mkdtempSync(join(folder, 'empty-')))
  const before = peakMemory(code.pid)
  await code.update(root)
  const [parser = 0] = childrenOf(code.pid)
    .map(peakMemory)
    .sort((a, b) => b - a)
  const extra = peakMemory(code.pid) - before
  return {
    what: `memory for the index, ${(bytes / MB).toFixed(0)} MB of source in ${files.length} files`,
    measured: `${extra.toFixed(0)} MB more (the process that parses: ${parser.toFixed(0)} MB, and it ends after 10 s)`,
    budget: '≤ 150 MB',
    ok: extra <= 150,
  }
}

/** The highest resident memory that a process had, in MB. Linux tells. */
function peakMemory(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1000
}

function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

async function parseAll({ root, files }: Corpus, parser: ReturnType<typeof openParser>): Promise<void> {
  function* texts() {
    for (const path of files) yield { path, text: readFileSync(join(root, path), 'utf8') }
  }
  for await (const _ of parser.parse(texts())) void _
}

/** The median time until a change is in the index. */
async function changeFiles(index: CodeIndex, { root, files }: Corpus): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < CHANGES; n += 1) {
    const path = join(root, files[(n * 101) % files.length] ?? '')
    writeFileSync(path, `${readFileSync(path, 'utf8')}\nexport const added${n} = ${n}\n`)
    times.push(await timeOf(() => index.update()))
  }
  return median(times)
}

/** How long each search took, the shortest first. */
async function searchAll(index: CodeIndex, queries: readonly string[]): Promise<number[]> {
  await index.search(queries[0] ?? '', { freshMs: 60_000 })
  const times: number[] = []
  for (const query of queries) times.push(await timeOf(() => index.search(query, { freshMs: 60_000 })))
  return times.sort((a, b) => a - b)
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
