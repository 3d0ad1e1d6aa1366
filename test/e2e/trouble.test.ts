import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Health, SessionView } from '../../src/domain/api.ts'
import type { Pcc } from '../cli/pcc.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - name: slow
    match: work slowly
    turns:
      - { text: A step., tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 60, latency: 300 }
      - text: Done.
`

/** Its steps are all alike, which is not what is looked at here. */
const ALIKE = { PCC_BREAKERS_REPEATED_CALLS: '1000' }

/** Starts a session in the foreground and waits until its agent works. */
async function working(pcc: Pcc, project: string) {
  const child = pcc.spawn(['start', project, '--task', 'work slowly', '--session-name', 'slow'], { env: ALIKE })
  let shown = ''
  await new Promise<void>(resolve => {
    child.stdout?.on('data', chunk => {
      shown += chunk
      if (shown.includes('A step.')) resolve()
    })
  })
  const errors = child.stderr ? text(child.stderr) : Promise.resolve('')
  return { shown: () => shown, over: once(child, 'close'), errors }
}

/** The agent that runs with this test's home. */
function agentPid(pcc: Pcc): number {
  const found = readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    const home = read(`/proc/${pid}/environ`).split('\0').includes(`HOME=${pcc.home}`)
    return home && /claude$/.test(read(`/proc/${pid}/cmdline`).split('\0')[0] ?? '')
  })
  assert.equal(found.length, 1, 'one agent was found')
  return Number(found[0])
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // ended meanwhile, or not ours to read
  }
}

test('a daemon that dies under the view comes back, and the view goes on with the session', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO.replace('repeat: 60', 'repeat: 20'))
  const { shown, over, errors } = await working(pcc, project)
  const { pid } = JSON.parse((await pcc.run(['daemon', 'status', '--json'])).stdout) as Health
  process.kill(pid, 'SIGKILL')
  const [code] = await over
  assert.equal(code, 0, shown() + (await errors))
  assert.match(shown(), /interrupted: the daemon ended while it ran/)
  assert.match(shown(), /Session goes on: the daemon is back/)
  assert.match(shown(), /Summary of /)
})

test('an agent that dies in the middle of its turn is started again, and the work goes on in the same conversation', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO.replace('repeat: 60', 'repeat: 20'))
  const { shown, over, errors } = await working(pcc, project)
  process.kill(agentPid(pcc), 'SIGKILL')
  const [code] = await over
  assert.equal(code, 0, shown() + (await errors))
  const { status, turns } = JSON.parse((await pcc.run(['status', 'slow', '--json'])).stdout) as SessionView
  assert.equal(status, 'completed')
  assert.ok(turns <= 23, `${turns} rounds: what was done is not done again`)
})
