import { join } from 'node:path'
import { bundledProgram } from '../../src/agents/claude/bundled-program.ts'
import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { median } from '../measure.ts'
import { openProcessorClock } from '../processor-time.ts'
import { openInstallation, type Ran, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

/** An installation with its daemon, and the bare agent, against one scripted model. The processor time of both is counted. */
export interface Arena extends AsyncDisposable {
  dir: string
  dist: string
  env: Record<string, string>
  simulator: Simulator
  pcc(...args: string[]): Promise<Ran>
  claude(project: string, ...args: string[]): Promise<Ran>
  /** Measures both, one after the other. */
  compare(contenders: Contenders): Promise<Round>
}

interface Contenders {
  bare(): Promise<unknown>
  supervised(): Promise<unknown>
  /** Makes the project as it was. */
  reset(): void
  /** What comes before `supervised` and is not counted. */
  prepare?(): Promise<unknown>
}

interface Cost {
  ms: number
  processorMs: number | undefined
}

export interface Round {
  bare: Cost
  supervised: Cost
}

export async function openArena(scenario: string, settings: Record<string, string> = {}): Promise<Arena> {
  await using parts = new AsyncDisposableStack()
  const clocks = { bare: parts.use(openProcessorClock()), supervised: parts.use(openProcessorClock()) }
  const simulator = parts.use(await openSimulator({ text: scenario }))
  const installation = parts.use(await openInstallation())
  const { dir, dist } = installation
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url), ...settings }
  const start = (who: keyof Round, cwd: string, command: string, args: string[]) =>
    run(...clocks[who].counted(command, args), { env, cwd })
  const pcc = (...args: string[]) => start('supervised', dir, process.execPath, [dist, ...args])
  const cost = async (who: keyof Round, work: () => Promise<unknown>): Promise<Cost> => {
    const [began, before] = [performance.now(), clocks[who].read()]
    await work()
    const ms = performance.now() - began
    return { ms, processorMs: before === undefined ? undefined : (clocks[who].read() ?? before) - before }
  }
  await pcc('daemon', 'start')
  const all = parts.move()
  return {
    ...{ dir, dist, env, simulator, pcc },
    claude: (project, ...args) => start('bare', project, bundledProgram(), args),
    async compare({ bare, supervised, reset, prepare }) {
      reset()
      const first = await cost('bare', bare)
      reset()
      await prepare?.()
      return { bare: first, supervised: await cost('supervised', supervised) }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** One row about time and one about processor time, with the median of all rounds and the spread of their ratios. */
export function rowsOf(what: string, rounds: readonly Round[], most: { time: number; processor?: number }): BenchRow[] {
  const row = (about: string, value: (cost: Cost) => number | undefined, limit: number): BenchRow => {
    const pairs = rounds.flatMap(({ bare, supervised }) => {
      const [theirs, ours] = [value(bare), value(supervised)]
      return theirs === undefined || ours === undefined ? [] : [{ theirs, ours }]
    })
    const budget = `≤ ${limit}×`
    if (pairs.length === 0)
      return { what: about, measured: 'not measured: no right to make a control group', budget, ok: false }
    const ratios = pairs.map(({ theirs, ours }) => ours / theirs)
    const ratio = median(ratios)
    const [ours, theirs] = [median(pairs.map(pair => pair.ours)), median(pairs.map(pair => pair.theirs))]
    const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}×`
    const measured = `${ours.toFixed(0)} ms (bare ${theirs.toFixed(0)} ms; ${spread} in ${pairs.length} rounds)`
    return { what: about, measured, ratio, budget, ok: ratio <= limit }
  }
  return [
    row(what, ({ ms }) => ms, most.time),
    row(`processor time of all of it: ${what}`, ({ processorMs }) => processorMs, most.processor ?? 1.1),
  ]
}
