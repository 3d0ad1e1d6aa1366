import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AppPaths, appPathsFor } from '../../../src/base/app-paths.ts'
import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import { fullDiskEnv } from '../../../test/support/full-disk.ts'
import { agentEnv, bareEnv } from '../../../test/support/world.ts'
import type { RoundPlan } from '../plan/plan-round.ts'
import { scenarioOf, taskText, tokenOf, WORK_SCRIPT, workCommand } from '../plan/scenario.ts'
import type { SessionPlan } from '../plan/session-plan.ts'
import { type AgentPrograms, writePrograms } from './agent-programs.ts'
import { type NoticeServer, openNoticeServer } from './notice-server.ts'
import { makeRunProject } from './run-project.ts'
import type { SecondPlan } from './second-agent.ts'

/** The surroundings of one round: directories, the vendor and the notice server, all separate and on loopback. */
export interface RoundWorld extends AsyncDisposable {
  folder: string
  paths: AppPaths
  simulator: Simulator
  notices: NoticeServer
  /** The daemon's environment. */
  env: Record<string, string>
  projectOf(session: SessionPlan): string
  agentEnvOf(session: SessionPlan): Record<string, string>
  /** While this file exists, the store takes its disk for full. */
  fullFile: string
  /** The file in which daemons log the steps that they passed, and the one at which they died. */
  passedFile: string
  /** Once this file exists, the vendor accepts every login again. */
  loginFile: string
  programs: AgentPrograms
}

export interface WorldOptions {
  /** Shared by all rounds, because the agent's first start in a new home takes longer. */
  agentHome: string
  /** The variables that shift the clock of daemon and agents. */
  clock?: Record<string, string> | undefined
}

/** Builds it. */
export async function openWorld(plan: RoundPlan, options: WorldOptions): Promise<RoundWorld> {
  const folder = mkdtempSync(join(tmpdir(), `pcc-chaos-${plan.seed}-`))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  const leave = () => {
    try {
      remove()
    } catch {
      // Agents of an interrupted run may still write there; they are ended after this.
    }
  }
  process.once('exit', leave)
  const home = join(folder, 'home')
  const fullFile = join(folder, 'disk-is-full')
  const loginFile = join(folder, 'logged-in')
  const passedFile = join(folder, 'passed')
  const planFile = join(folder, 'second-plan.json')
  writeFileSync(planFile, JSON.stringify(secondPlanOf(plan)))
  const programs = writePrograms(folder, options.clock ?? {}, planFile)
  const simulator = await openSimulator({ text: scenarioOf(plan, { loginFile }), keep: 10_000 })
  const notices = await openNoticeServer()
  const env = {
    ...bareEnv(home),
    PCC_HOME: join(home, 'pcc'),
    PCC_CRASH_LOG: passedFile,
    ...fullDiskEnv(fullFile),
    NODE_COMPILE_CACHE: join(options.agentHome, 'compile-cache'),
    ...options.clock,
  }
  const paths = appPathsFor({ env })
  mkdirSync(paths.data, { recursive: true, mode: 0o700 })
  writeFileSync(paths.configFile, configFor(plan, { noticeUrl: notices.url, programs, clock: options.clock ?? {} }))
  for (const session of plan.sessions) makeProject(join(folder, session.name))
  if (plan.run) makeRunProject(join(folder, plan.run.name), { remote: originOf(folder, plan) })
  return {
    folder,
    paths,
    simulator,
    notices,
    env,
    passedFile,
    loginFile,
    programs,
    fullFile,
    projectOf: ({ name }) => join(folder, name),
    agentEnvOf: session => ({
      ...agentEnv(options.agentHome, simulator.url, 'oauth'),
      CLAUDE_CODE_OAUTH_TOKEN: tokenOf(session),
    }),
    async [Symbol.asyncDispose]() {
      await simulator.close()
      await notices[Symbol.asyncDispose]()
      process.off('exit', leave)
      remove()
    },
  }
}

/** The remote of a run's project, if the plan removes it. */
function originOf(folder: string, { faults }: RoundPlan): string | undefined {
  return faults.some(({ kind }) => kind === 'remote-gone') ? join(folder, 'origin.git') : undefined
}

function secondPlanOf({ sessions }: RoundPlan): SecondPlan {
  const tasks = sessions.flatMap(session => session.tasks).filter(({ second }) => second)
  return Object.fromEntries(
    tasks.map(({ token, second = [] }) => [
      taskText(token),
      second.map(step => ({ token: step.token, command: workCommand(step) })),
    ]),
  )
}

interface RoundConfig {
  noticeUrl: string
  programs: AgentPrograms
  clock: Record<string, string>
}

function configFor({ faults }: RoundPlan, { noticeUrl, programs, clock }: RoundConfig): string {
  const shown = Object.entries(clock).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []))
  const hasSecond = faults.some(({ kind }) => kind === 'failover')
  return `[sessions]
retry_seconds = 0

[data]
min_free_mb = 1

# The tools of a round differ by numbers only, which looks like going in circles.
[breakers]
repeated_calls = 1000

[notifications]
desktop = false

[notifications.ntfy]
server = "${noticeUrl}"
topic = "chaos"

[agents]
path = "${programs.claude}"
sandbox_write = ["${programs.locks}"]
sandbox_read = ${JSON.stringify(shown)}
${hasSecond ? secondAgent(programs.second) : ''}`
}

/** Any refusal hands a task over, and it returns as soon as possible. */
function secondAgent(program: string): string {
  return `sandbox = "off"
unattended = ["second"]

[agents.custom.second]
command = "${program}"

[failover]
agents = ["claude", "second"]
after_minutes = 0
`
}

function makeProject(path: string): void {
  mkdirSync(join(path, 'src'), { recursive: true })
  writeFileSync(join(path, 'work.sh'), WORK_SCRIPT)
  writeFileSync(join(path, 'ledger'), '')
}
