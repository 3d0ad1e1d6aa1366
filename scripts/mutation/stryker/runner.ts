import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StrykerOptions } from '@stryker-mutator/api/core'
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext } from '@stryker-mutator/api/core'
import { commonTokens, tokens } from '@stryker-mutator/api/plugin'
import {
  type CompleteDryRunResult,
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
} from '@stryker-mutator/api/test-runner'
import { type Collect, type Collected, openCollector } from './collect.ts'

/** Test files, and a pattern of the sources whose mutants they test; slow ones need not run for all. */
interface Group {
  tests: string
  of: string
}

interface Known extends Collected {
  of: string
}

/** Runs the test bodies repeatedly in one process, each time with another mutant switched on. */
export class RepeatingRunner implements TestRunner {
  static inject = tokens(commonTokens.options)
  readonly #groups: Group[]
  readonly #context: InstrumenterContext
  /** The tests that killed mutants of a file, the latest first, because they are the most likely to kill the next one. */
  readonly #killers = new Map<string, string[]>()
  #collect: Collect | undefined
  #tests: Promise<Map<string, Known>> | undefined

  constructor(options: StrykerOptions) {
    this.#groups = options['repeating'] as Group[]
    const shared = globalThis as { [INSTRUMENTER_CONSTANTS.NAMESPACE]?: InstrumenterContext }
    this.#context = shared[INSTRUMENTER_CONSTANTS.NAMESPACE] ?? {}
    shared[INSTRUMENTER_CONSTANTS.NAMESPACE] = this.#context
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async dryRun(): Promise<DryRunResult> {
    const tests: TestResult[] = []
    for (const [id, test] of await this.#import(true)) {
      this.#context.currentTestId = id
      const started = performance.now()
      const failure = await failureOf(test)
      const outcome = { id, name: test.title, fileName: test.file, timeSpentMs: Math.ceil(performance.now() - started) }
      tests.push(
        failure === undefined
          ? { ...outcome, status: TestStatus.Success }
          : { ...outcome, status: TestStatus.Failed, failureMessage: failure },
      )
    }
    delete this.#context.currentTestId
    const result: CompleteDryRunResult = { status: DryRunStatus.Complete, tests }
    return this.#context.mutantCoverage ? { ...result, mutantCoverage: this.#context.mutantCoverage } : result
  }

  async mutantRun({
    activeMutant,
    mutantActivation,
    testFilter,
    hitLimit,
    reloadEnvironment,
  }: MutantRunOptions): Promise<MutantRunResult> {
    if (reloadEnvironment) this.#tests = undefined
    if (mutantActivation === 'runtime') await this.#load()
    this.#activate(activeMutant.id, hitLimit)
    const wanted = testFilter && new Set(testFilter)
    let nrOfTests = 0
    try {
      for (const [id, test] of this.#inOrder(await this.#load(), activeMutant.fileName)) {
        if (!new RegExp(test.of).test(activeMutant.fileName)) continue
        if (wanted && !wanted.has(id)) continue
        nrOfTests += 1
        const failureMessage = await failureOf(test)
        if (hitLimit !== undefined && (this.#context.hitCount ?? 0) > hitLimit)
          return { status: MutantRunStatus.Timeout, reason: `executed more than ${hitLimit} times` }
        if (failureMessage === undefined) continue
        this.#killers.set(activeMutant.fileName, [id, ...this.#killersOf(activeMutant.fileName, id)])
        return { status: MutantRunStatus.Killed, killedBy: [id], failureMessage, nrOfTests }
      }
      return { status: MutantRunStatus.Survived, nrOfTests }
    } catch (error) {
      // Only the import of the tests can throw here: the mutant broke the program before a test could start.
      return { status: MutantRunStatus.Killed, killedBy: [], failureMessage: String(error), nrOfTests }
    } finally {
      this.#activate(undefined, undefined)
    }
  }

  #killersOf(file: string, but?: string): string[] {
    return (this.#killers.get(file) ?? []).filter(id => id !== but)
  }

  #inOrder(tests: Map<string, Known>, file: string): [string, Known][] {
    const first = new Set(this.#killersOf(file))
    return [
      ...[...first].flatMap((id): [string, Known][] => {
        const test = tests.get(id)
        return test ? [[id, test]] : []
      }),
      ...[...tests].filter(([id]) => !first.has(id)),
    ]
  }

  /** Workers of the classifier are threads with their own global scope, so the environment tells them the mutant. */
  #activate(id: string | undefined, hitLimit: number | undefined) {
    delete process.env[INSTRUMENTER_CONSTANTS.ACTIVE_MUTANT_ENV_VARIABLE]
    delete this.#context.activeMutant
    delete this.#context.hitCount
    delete this.#context.hitLimit
    if (id === undefined) return
    process.env[INSTRUMENTER_CONSTANTS.ACTIVE_MUTANT_ENV_VARIABLE] = id
    this.#context.activeMutant = id
    if (hitLimit === undefined) return
    this.#context.hitCount = 0
    this.#context.hitLimit = hitLimit
  }

  #load(): Promise<Map<string, Known>> {
    this.#tests ??= this.#import(false)
    return this.#tests
  }

  async #import(counting: boolean): Promise<Map<string, Known>> {
    const root = process.cwd()
    this.#collect ??= openCollector(root)
    const files = new Map(
      this.#groups.flatMap(({ tests, of }) =>
        globSync(tests, { cwd: root })
          .sort()
          .map(file => [resolve(root, file), of]),
      ),
    )
    const tests = await this.#collect([...files.keys()], counting)
    return new Map(tests.map((test, place) => [String(place), { ...test, of: files.get(test.file) ?? '' }]))
  }
}

async function failureOf({ body }: Collected): Promise<string | undefined> {
  const undos: (() => unknown)[] = []
  try {
    await body({ after: undo => undos.push(undo) })
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    for (const undo of undos.reverse()) await undo()
  }
}
