import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appPathsFor } from '../src/base/app-paths.ts'
import { openGuard } from '../src/base/process/guardian.ts'
import { openSimulator } from '../src/simulator/open.ts'
import { commandSandboxes } from '../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../src/workspace/command/run-command.ts'
import { configWith } from '../test/brain/sample.ts'
import { agentEnv, bareEnv } from '../test/support/world.ts'
import { median, race } from './measure.ts'
import { openInstallation, run } from './program.ts'
import type { BenchRow } from './row.ts'
import { NO_OP_GATES, notesProject, onlyIn, taskOf } from './workspace/notes-project.ts'

/** Each round is forty tasks of the real agent, in the project and in worktrees, and the first one warms up: more would take minutes. */
const ROUNDS = 2
const STARTS = 25
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet']

/** What the sandbox costs: at each start, and over ten tasks through `pcc run`, in the project itself and in worktrees. */
export async function benchSandbox(): Promise<BenchRow[]> {
  return [await benchStart(), await benchTen('off'), await benchTen('auto')]
}

/** The same command of a project, in a sandbox and without one. */
async function benchStart(): Promise<BenchRow> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    const [home, project] = [join(dir, 'home'), join(dir, 'project')]
    for (const each of [home, project]) mkdirSync(each)
    const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
    const guard = openGuard()
    await using sandbox = commandSandboxes(configWith({}), { project, paths, log: () => undefined })
    const { signal } = new AbortController()
    const command = {
      command: ':',
      directory: project,
      env: commandEnvironment(bareEnv(home)),
      timeoutMs: 60_000,
      signal,
    }
    const times = await race(
      { bare: () => runCommand(command, { guard }), inside: () => runCommand(command, { guard, sandbox }) },
      STARTS,
    )
    const more = times.inside - times.bare
    return {
      what: 'the start of a command in the sandbox, beside the same without',
      measured: `${more.toFixed(1)} ms more (${times.inside.toFixed(1)} and ${times.bare.toFixed(1)} ms)`,
      budget: '≤ 25 ms',
      ok: more <= 25,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Ten tasks with the sandbox against ten without, alternating. */
async function benchTen(worktrees: 'off' | 'auto'): Promise<BenchRow> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = notesProject(dir)
  await using simulator = await openSimulator({ text: SCENARIO })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url), ...NO_OP_GATES }
  const pcc = (sandbox: 'off' | 'auto', ...args: string[]) =>
    run(process.execPath, [dist, ...args], {
      env: { ...env, PCC_AGENTS_SANDBOX: sandbox, PCC_WORKTREES_MODE: worktrees },
      cwd: dir,
    })
  await pcc('auto', 'daemon', 'start')
  const ten = async (sandbox: 'off' | 'auto') => {
    project.reset()
    for (const name of NAMES) await pcc(sandbox, 'task', 'add', taskOf(name), '--project', project.path)
    const started = performance.now()
    await pcc(sandbox, 'run', project.path, '--model', 'haiku')
    return performance.now() - started
  }
  const rounds: { bare: number; inside: number }[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const times = { bare: await ten('off'), inside: await ten('auto') }
    if (round > 0) rounds.push(times)
  }
  const ratio = median(rounds.map(({ bare, inside }) => inside / bare))
  const middle = (of: 'bare' | 'inside') => median(rounds.map(round => round[of])).toFixed(0)
  return {
    what: `ten tasks through pcc run ${worktrees === 'off' ? 'in the project' : 'in worktrees'}, in the sandbox, against the same without`,
    measured: `${middle('inside')} ms (without ${middle('bare')} ms)`,
    ratio,
    budget: '≤ 1.05×',
    ok: ratio <= 1.05,
  }
}

const turnsOf = (name: string) => [
  { tools: [{ Write: { file_path: `{{cwd}}/${name}.md`, content: 'A sample.\n' } }] },
  { tools: [{ Read: { file_path: `{{cwd}}/${name}.md` } }] },
  { text: 'The note is written.' },
]
const SCENARIO = JSON.stringify({
  conversations: NAMES.map(name => ({ match: onlyIn(name), turns: turnsOf(name) })),
})
