import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionView } from '../../src/domain/api.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

const SESSIONS = ['one', 'two', 'three']
/** Long enough for every session to meet the limit, or be held back by it, well before it resets. */
const RESET_MS = 25_000
/** The agent has to read and report the refusal; another session's call may be on its way meanwhile. */
const TOLD_MS = 300
const GIVE_UP_MS = 180_000
const WATCHED_MS = 20_000

/** Three sessions of one account meet a limit: which calls happen when, and what idling costs afterwards. */
export async function benchLimits(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  const resetsAt = Math.ceil((Date.now() + RESET_MS) / 1000) * 1000
  await using simulator = await openSimulator({ text: scenario(resetsAt) })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url, 'oauth') }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: dir })
  for (const name of SESSIONS) await pcc('start', project, '--task', `Please do part ${name}`, '--detach', '--quiet')
  await completed(pcc)
  const refused = simulator.requests.findIndex(({ response }) => response === 'limit')
  if (refused < 0) throw new Error('no session met the limit')
  const later = simulator.requests.slice(refused + 1)
  const told = (simulator.requests[refused]?.time ?? 0) + TOLD_MS
  const early = later.filter(({ time }) => time > told && time < resetsAt).length
  const firsts = SESSIONS.map(
    name => later.find(each => each.time >= resetsAt && each.first_prompt.includes(name))?.time,
  )
  const delays = firsts.map(time => ((time ?? Number.POSITIVE_INFINITY) - resetsAt) / 1000).sort((a, b) => a - b)
  const before = simulator.requests.length
  await sleep(WATCHED_MS)
  const idle = simulator.requests.length - before
  return [
    {
      what: `first model call after a limit's reset, ${SESSIONS.length} sessions of one account`,
      measured: `${delays.map(seconds => seconds.toFixed(1)).join(', ')} s`,
      budget: '≤ 120 s',
      ok: delays.every(seconds => seconds <= 120),
    },
    {
      what: `model calls while the account is shut, from ${TOLD_MS} ms after the refusal on`,
      measured: String(early),
      budget: '0',
      ok: early === 0,
    },
    {
      what: `model calls while idle, watched for ${WATCHED_MS / 1000} s`,
      measured: String(idle),
      budget: '0',
      ok: idle === 0,
    },
  ]
}

async function completed(pcc: (...args: string[]) => Promise<{ stdout: string }>): Promise<void> {
  const until = Date.now() + GIVE_UP_MS
  while (Date.now() < until) {
    const { sessions } = JSON.parse((await pcc('list', '--json')).stdout) as { sessions: SessionView[] }
    if (sessions.every(({ status }) => status === 'completed')) return
    await sleep(500)
  }
  throw new Error('the sessions did not go on after the reset')
}

function scenario(resetsAt: number): string {
  const part = (name: string) => ({
    match: `part ${name}`,
    turns: [
      { tools: [{ Bash: { command: `sleep 3; touch ${name}.1`, description: 'Work' } }] },
      { fault: { kind: 'limit', window: 'five_hour', until: resetsAt / 1000 }, text: 'Done.' },
    ],
  })
  return JSON.stringify({ conversations: SESSIONS.map(part) })
}
