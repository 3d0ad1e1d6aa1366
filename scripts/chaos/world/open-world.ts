import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Places, placesFor } from '../../../src/base/places.ts'
import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import { agentEnv, bareEnv } from '../../../test/support/world.ts'
import type { RoundPlan } from '../plan/plan-round.ts'
import { scenarioOf, tokenOf, WORK_SCRIPT } from '../plan/scenario.ts'
import type { SessionPlan } from '../plan/session-plan.ts'
import { type NoticeServer, openNoticeServer } from './notice-server.ts'
import { makeRunProject } from './run-project.ts'

/** Where one round happens: directories, the vendor and the people's side, all of its own and all on loopback. */
export interface RoundWorld extends AsyncDisposable {
  folder: string
  places: Places
  simulator: Simulator
  notices: NoticeServer
  /** The daemon's environment. */
  env: Record<string, string>
  projectOf(session: SessionPlan): string
  agentEnvOf(session: SessionPlan): Record<string, string>
  /** As long as it is there the store takes its disk for full. */
  fullFile: string
  /** Where the steps that were passed are noted. */
  passedFile: string
}

export interface WorldOptions {
  /** Shared by the rounds of a run: the agent's first start in a new home takes longer. */
  agentHome: string
  passedFile: string
  /** What moves the daemon's clock, and the agent's program where that has to have it moved too. */
  clock?: Record<string, string> | undefined
  agentPath?: string | undefined
}

/** Builds it. */
export async function openWorld(plan: RoundPlan, options: WorldOptions): Promise<RoundWorld> {
  const folder = mkdtempSync(join(tmpdir(), `pcc-chaos-${plan.seed}-`))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  const leave = () => {
    try {
      remove()
    } catch {
      // Agents of a run that was interrupted still write there; who comes after this ends them.
    }
  }
  process.once('exit', leave)
  const home = join(folder, 'home')
  const fullFile = join(folder, 'disk-is-full')
  const simulator = await openSimulator({ text: scenarioOf(plan), keep: 10_000 })
  const notices = await openNoticeServer()
  const env = {
    ...bareEnv(home),
    PCC_HOME: join(home, 'pcc'),
    PCC_CRASH_LOG: options.passedFile,
    PCC_FULL_WHILE: fullFile,
    NODE_COMPILE_CACHE: join(options.agentHome, 'compile-cache'),
    ...options.clock,
  }
  const places = placesFor({ env })
  mkdirSync(places.data, { recursive: true, mode: 0o700 })
  writeFileSync(places.configFile, configFor(notices.url, options.agentPath))
  for (const session of plan.sessions) makeProject(join(folder, session.name))
  if (plan.run) makeRunProject(join(folder, plan.run.name))
  return {
    folder,
    places,
    simulator,
    notices,
    env,
    passedFile: options.passedFile,
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

function configFor(noticeUrl: string, agentPath: string | undefined): string {
  return `[sessions]
retry_seconds = 0

[data]
min_free_mb = 1

[notifications]
desktop = false

[notifications.ntfy]
server = "${noticeUrl}"
topic = "chaos"
${agentPath === undefined ? '' : `\n[agents]\npath = "${agentPath}"\n`}`
}

function makeProject(path: string): void {
  mkdirSync(join(path, 'src'), { recursive: true })
  writeFileSync(join(path, 'work.sh'), WORK_SCRIPT)
  writeFileSync(join(path, 'ledger'), '')
}
