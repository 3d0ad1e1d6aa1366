import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { groupTests } from '../testing/groups.ts'
import { builtProgram } from '../testing/program.ts'
import { type Baseline, type Ledger, openBaselines, openResults, type Result, resultOf } from './results.ts'
import { runTests, type TestOutcome, type TestRun } from './run-tests.ts'
import { hashOf, type Mutant } from './sample.ts'
import { applied } from './sites.ts'
import { programTestsOf, readTests, type TestFile, unitTestsOf } from './tests-of.ts'

/** A busier machine than at the time of the measurement is not a hang. */
const PATIENCE = 5
const PATIENCE_MS = 30_000
const BASELINE_MS = 240_000
/** A failure this late may be caused by the load of the machine. */
const DOUBTFUL_MS = 20_000
/** So may a failure of a randomised test. */
const UNSTEADY = /property|random|any-night|crossings/
/** How many files share a process, because a start costs as much as the tests of many a file. */
const TOGETHER = 5
/** How many of the tests that cover a mutant are run, the nearest first. */
const MOST_FILES = 15
const NOT_COPIED = new Set(['node_modules', '.git', '.mutation', '.stryker', 'dist', 'coverage'])

export type Stage = 'unit' | 'program'

/** Tries mutants in a copy of the checkout; several can be tried in parallel, each in its own copy. */
export class Workbench {
  readonly root: string
  readonly results: Ledger<Result>
  readonly #signal: AbortSignal
  readonly #tests: TestFile[]
  readonly #baselines: Ledger<Baseline>
  readonly #pending = new Map<string, Promise<Baseline>>()
  /** Test files that were run without a mutant in this run. */
  readonly #measured = new Set<string>()
  readonly #copies: string[] = []
  readonly #free: string[] = []

  constructor(root: string, signal: AbortSignal) {
    this.root = root
    this.#signal = signal
    this.results = openResults(root)
    this.#baselines = openBaselines(root)
    this.#tests = readTests(root)
  }

  /** Continues with a mutant: only tests run that have not passed with it yet. */
  async decide(mutant: Mutant, stage: Stage): Promise<Result> {
    const copy = this.#free.pop() ?? this.#makeCopy()
    try {
      const known = this.#decided(mutant)
      if (known && known.outcome !== 'survived') return known
      const result: Result = {
        id: mutant.id,
        hash: hashOf(mutant.text),
        outcome: 'survived',
        passed: { ...known?.passed },
      }
      let ran = 0
      for await (const tests of this.#chunks(mutant, stage, copy)) {
        const left = tests.filter(({ path, hash }) => result.passed[path] !== hash)
        ran += left.length
        if (left.length > 0) await this.#try(mutant, { copy, stage, tests: left, result })
        if (result.by) break
      }
      if (ran > 0 || !known) this.results.add(result)
      return result
    } finally {
      this.#free.push(copy)
    }
  }

  /** Test files that fail without any mutant; they prove nothing. */
  red(): string[] {
    return this.#tests.map(({ path }) => path).filter(path => this.#baselines.get(path)?.green === false)
  }

  [Symbol.dispose](): void {
    for (const copy of this.#copies) rmSync(copy, { recursive: true, force: true })
  }

  /** A kill counts as long as the test that caught it is unchanged. */
  #decided(mutant: Mutant): Result | undefined {
    const known = resultOf(this.results, mutant)
    if (!known?.by) return known
    const { file, hash } = known.by
    return this.#tests.some(test => test.path === file && test.hash === hash) ? known : undefined
  }

  /** The tests that may catch a mutant, in batches: near ones that cover its code, or tests named after its file. */
  async *#chunks(mutant: Mutant, stage: Stage, copy: string): AsyncGenerator<TestFile[]> {
    const named = stage === 'unit' ? unitTestsOf(mutant.file, this.#tests) : programTestsOf(mutant, this.#tests)
    // A file that another worker is measuring is taken later, so that two workers measure twice as many files.
    const queue = [
      ...named.filter(({ path }) => !this.#pending.has(path)),
      ...named.filter(({ path }) => this.#pending.has(path)),
    ]
    let chunk: TestFile[] = []
    let chosen = 0
    for (const test of queue) {
      if (chosen >= MOST_FILES) break
      const of = stage === 'unit' ? mutant : undefined
      if (chunk.length >= TOGETHER || (chunk.length > 0 && !this.#known(test, of))) {
        yield chunk
        chunk = []
      }
      const { green, covered } = await this.#baseline(test, of, copy)
      const ran = covered[mutant.file]?.ran ?? []
      if (!green || (stage === 'unit' && !ran.some(([from, to]) => from <= mutant.start && mutant.start < to))) continue
      chosen += 1
      chunk.push(test)
    }
    if (chunk.length > 0) yield chunk
  }

  async #baseline(test: TestFile, of: Mutant | undefined, copy: string): Promise<Baseline> {
    const known = this.#known(test, of)
    if (known) return known
    const pending = this.#pending.get(test.path)
    if (pending) return pending
    const measuring = this.#measure(test, copy)
    this.#pending.set(test.path, measuring)
    return measuring.finally(() => this.#pending.delete(test.path))
  }

  #known(test: TestFile, of: Mutant | undefined): Baseline | undefined {
    const known = this.#baselines.get(test.path)
    const isFresh = !of || known?.covered[of.file]?.hash === hashOf(of.text)
    // A failure in another run may have been caused by the load at that time.
    const counts = known?.green || this.#measured.has(test.path)
    return known?.hash === test.hash && isFresh && counts ? known : undefined
  }

  async #measure(test: TestFile, copy: string): Promise<Baseline> {
    const program = test.startsProgram ? builtProgram(copy) : undefined
    const run = {
      root: copy,
      files: [test.path],
      timeoutMs: BASELINE_MS,
      program,
      coverage: !program,
      signal: this.#signal,
    }
    let outcome = await runTests(run)
    if (outcome.red || outcome.timedOut) outcome = await runTests(run)
    const sources = [...test.distances.keys()].filter(path => path.startsWith('src/'))
    const row: Baseline = {
      test: test.path,
      hash: test.hash,
      green: outcome.red === undefined && !outcome.timedOut,
      durationMs: outcome.durationMs,
      covered: Object.fromEntries(
        sources.map(path => {
          const hash = hashOf(readFileSync(join(copy, path), 'utf8'))
          return [path, { hash, ran: outcome.covered.get(path) ?? [] }]
        }),
      ),
    }
    this.#baselines.add(row)
    this.#measured.add(test.path)
    return row
  }

  async #try(
    mutant: Mutant,
    { copy, stage, tests, result }: { copy: string; stage: Stage; tests: TestFile[]; result: Result },
  ): Promise<void> {
    const place = join(copy, mutant.file)
    writeFileSync(place, applied(mutant.text, mutant))
    const program = stage === 'program' ? builtProgram(copy) : undefined
    try {
      const usually = (file: string) => this.#baselines.get(file)?.durationMs ?? 0
      const quickFirst = tests.map(({ path }) => path).sort((a, b) => usually(a) - usually(b))
      for (const { files } of groupTests(quickFirst)) {
        const usualMs = files.reduce((sum, file) => sum + usually(file), 0)
        const run = { root: copy, files, timeoutMs: PATIENCE * usualMs + PATIENCE_MS, program, signal: this.#signal }
        let outcome: TestOutcome | undefined = await runTests(run)
        const isUnsteady = outcome.durationMs > DOUBTFUL_MS || files.some(file => UNSTEADY.test(file)) || program
        const isDoubtful = outcome.timedOut || outcome.red?.crashed || (outcome.red && isUnsteady)
        if (isDoubtful) outcome = await this.#again(mutant, { copy, run, outcome })
        if (!outcome) continue
        const { red, timedOut } = outcome
        if (!red && !timedOut) {
          for (const { path, hash } of tests) if (files.includes(path)) result.passed[path] = hash
          continue
        }
        const file = red?.file ?? files[0] ?? ''
        const hash = tests.find(({ path }) => path === file)?.hash ?? ''
        result.outcome = timedOut ? 'timeout' : 'killed'
        result.by = { file, title: red?.title ?? 'no end', hash, program: stage === 'program' }
        return
      }
    } finally {
      writeFileSync(place, mutant.text)
      if (program) rmSync(program, { recursive: true, force: true })
    }
  }

  /**
   * A busy machine delays tests, and delayed tests fail. Such a failure counts only if it happens again while the same tests
   * pass without the mutant, in a fifth of the time if they did not finish with it.
   */
  async #again(mutant: Mutant, { copy, run, outcome }: { copy: string; run: TestRun; outcome: TestOutcome }) {
    const place = join(copy, mutant.file)
    const files = outcome.red && !outcome.red.crashed ? [outcome.red.file] : run.files
    writeFileSync(place, mutant.text)
    const program = run.program && builtProgram(copy)
    const control = await runTests({ ...run, files, program, timeoutMs: BASELINE_MS })
    writeFileSync(place, applied(mutant.text, mutant))
    if (control.red || control.timedOut) return undefined // these tests prove nothing now
    return runTests({ ...run, files, timeoutMs: PATIENCE * control.durationMs + PATIENCE_MS })
  }

  #makeCopy(): string {
    const copy = realpathSync(mkdtempSync(join(tmpdir(), 'pcc-mutation-')))
    cpSync(this.root, copy, { recursive: true, filter: path => path === this.root || !NOT_COPIED.has(basename(path)) })
    const modules = join(this.root, 'node_modules')
    if (existsSync(modules)) symlinkSync(modules, join(copy, 'node_modules'))
    this.#copies.push(copy)
    return copy
  }
}
