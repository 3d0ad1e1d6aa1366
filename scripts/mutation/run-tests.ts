import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { secretId } from '../../src/base/ids.ts'
import { brandCommand, type Marker } from '../../src/base/process/marker.ts'
import { endLeftovers } from '../testing/leftovers.ts'
import { FAILED } from './first-failure.ts'

const REPORTER = fileURLToPath(new URL('first-failure.ts', import.meta.url))
const TOGETHER = fileURLToPath(new URL('../testing/together.ts', import.meta.url))
const COMPILED = join(tmpdir(), 'node-compile-cache')
const GRACE_MS = 300

export interface TestRun {
  /** A copy of the checkout. */
  root: string
  files: string[]
  timeoutMs: number
  /** A bundle of the program, for tests that start it. */
  program?: string | undefined
  /** Whether to record which source ranges are executed. */
  coverage?: boolean
  /** Ends the tests at once; the run then throws. */
  signal: AbortSignal
}

export interface TestOutcome {
  /** The first failure; `crashed` if the process ended without a failed test, for example by an external signal. */
  red: { file: string; title: string; crashed?: true } | undefined
  timedOut: boolean
  durationMs: number
  covered: Map<string, Interval[]>
}

/** A range of offsets in a source file, the end not included. */
export type Interval = [number, number]

/** Runs test files in one process until the first failure, and ends everything they started. */
export async function runTests({ root, files, timeoutMs, program, coverage, signal }: TestRun): Promise<TestOutcome> {
  const marker: Marker = { name: 'PCC_TEST_RUN', value: secretId(12) }
  const folder = mkdtempSync(join(tmpdir(), 'pcc-'))
  const seen = join(folder, 'coverage')
  mkdirSync(seen)
  const own = ['--test-timeout=300000', `--test-reporter=${REPORTER}`, '--test-reporter-destination=stderr']
  const entry = files.length === 1 ? files : [TOGETHER, ...files]
  const { command, args } = brandCommand(marker, process.execPath, [...own, ...entry])
  const { NODE_TEST_CONTEXT: _silencesNestedRuns, NODE_V8_COVERAGE: _ours, ...inherited } = process.env
  const env = {
    ...{ ...inherited, NODE_COMPILE_CACHE: COMPILED, [marker.name]: marker.value, TMPDIR: folder },
    ...(coverage && { NODE_V8_COVERAGE: seen }),
    ...(program && { PCC_TEST_PROGRAM: program }),
  }
  const started = performance.now()
  const child = spawn(command, args, { cwd: root, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  const { promise: over, resolve: end } = Promise.withResolvers<TestOutcome['red'] | 'late' | undefined>()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const late = () => end('late')
  limit.addEventListener('abort', late)
  createInterface({ input: child.stderr }).on('line', line => {
    if (!line.startsWith(FAILED)) return
    const { file, title } = JSON.parse(line.slice(FAILED.length)) as { file?: string; title: string }
    end({ file: file ? relative(root, file) : (files[0] ?? ''), title })
  })
  child.on('exit', (code, died) => {
    // The output of a failing test may still be in the pipe.
    const crash = { file: files[0] ?? '', title: `${died ?? `exit ${code}`}`, crashed: true } as const
    setTimeout(() => end(code === 0 ? undefined : crash), 50)
  })
  const red = await over
  const durationMs = Math.round(performance.now() - started)
  limit.removeEventListener('abort', late)
  child.kill('SIGKILL')
  await endLeftovers({ marker, folder, graceMs: red === undefined ? 5_000 : GRACE_MS })
  child.stderr.destroy()
  const covered = coverage ? readCoverage(seen, root) : new Map<string, Interval[]>()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  signal.throwIfAborted()
  return { red: red === 'late' ? undefined : red, timedOut: red === 'late', durationMs, covered }
}

interface Script {
  url: string
  functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[]
}

/** The executed ranges of src/ in any process of the test. Types are replaced with blanks, so V8's offsets equal those of the source. */
function readCoverage(folder: string, root: string): Map<string, Interval[]> {
  const own = pathToFileURL(`${root}/src/`).href
  const painted = new Map<string, Uint8Array>()
  for (const name of globSync('*.json', { cwd: folder })) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: Script[] }
    for (const { url, functions } of result) {
      if (!url.startsWith(own)) continue
      const ranges = functions.flatMap(one => one.ranges)
      const size = Math.max(...ranges.map(range => range.endOffset))
      const paint = new Uint8Array(size)
      // Inner ranges override the ranges around them.
      ranges.sort((a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset))
      for (const { startOffset, endOffset, count } of ranges) paint.fill(count > 0 ? 1 : 0, startOffset, endOffset)
      const path = relative(root, fileURLToPath(url))
      const before = painted.get(path)
      painted.set(path, before ? paint.map((ran, at) => ran | (before[at] ?? 0)) : paint)
    }
  }
  return new Map([...painted].map(([path, paint]) => [path, intervals(paint)]))
}

function intervals(paint: Uint8Array): Interval[] {
  const found: Interval[] = []
  for (let at = paint.indexOf(1); at !== -1; ) {
    const end = paint.indexOf(0, at)
    found.push([at, end === -1 ? paint.length : end])
    at = end === -1 ? -1 : paint.indexOf(1, end)
  }
  return found
}
