import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { SessionView } from '../../../src/domain/api.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import type { AgentScript } from '../../agents/acp/scripted-agent.ts'
import { agentEnv, gitProject, tempDir } from '../../support/world.ts'
import { startDaemon } from '../daemon-process.ts'

// kill -9 of the daemon around the moment in which a task passes from the real Claude Code to an agent that speaks ACP.

const SCENARIO = JSON.stringify({
  conversations: [
    {
      match: 'build it',
      turns: [
        { tools: [{ Write: { file_path: 'half.txt', content: 'half' } }] },
        { fault: { kind: 'limit', window: 'five_hour', resets: '+300m' } },
      ],
      otherwise: { fault: { kind: 'limit', window: 'five_hour', resets: '+300m' } },
    },
  ],
})
const SECOND: AgentScript = { prompt: [{ say: 'Done.' }, { answer: { stopReason: 'end_turn' } }] }
const AGENT = fileURLToPath(new URL('../../agents/acp/scripted-agent.ts', import.meta.url))

const LIVES = [
  // Before the change is written, after it, and while the second agent is at work.
  ['settle.before-commit', 'resume.before-claim', 'open.after-agent'],
  ['settle.after-commit'],
]

for (const points of LIVES) {
  test(`a daemon that is killed while a task changes hands (${points}) goes on from the row: one change, one end`, async t => {
    await using simulator = await openSimulator({ text: SCENARIO })
    const [home, project] = [tempDir(t), gitProject(t)]
    const env = { ...agentEnv(tempDir(t), simulator.url, 'oauth'), ACP_SCRIPT: JSON.stringify(SECOND) }
    const settings = {
      PCC_FAILOVER_AGENTS: 'claude,second',
      PCC_AGENTS_UNATTENDED: 'second',
      PCC_AGENTS_SANDBOX: 'off',
      PCC_AGENTS_ENV: 'ANTHROPIC_*,CLAUDE_*,ACP_*',
    }
    const config = join(home, 'config.toml')
    writeFileSync(config, `[agents.custom.second]\ncommand = ${JSON.stringify(`${process.execPath} ${AGENT}`)}\n`)
    let id = ''
    for (const [life, point] of [...points, undefined].entries()) {
      const daemon = await startDaemon(t, { home, env: point === undefined ? {} : { PCC_CRASH_AT: point } })
      if (life === 0) {
        const { body } = await daemon.call<SessionView>('POST', '/sessions', {
          body: { project, task: 'build it', env, settings, config },
        })
        id = body.id
      }
      if (point !== undefined) {
        await daemon.ended
        continue
      }
      let view: SessionView
      do {
        await new Promise(resolve => setTimeout(resolve, 50))
        view = (await daemon.call<SessionView>('GET', `/sessions/${id}`)).body
      } while (view.status !== 'completed')
      assert.equal(view.agent, 'second')
      assert.deepEqual(
        view.handed?.map(({ agent }) => agent),
        ['claude'],
      )
      const { events } = (await daemon.call<{ events: StoredEvent[] }>('GET', `/tasks/${view.task_id}/log`)).body
      assert.equal(events.filter(({ kind }) => kind === 'task.finished').length, 1)
      const log = (await daemon.call<{ events: StoredEvent[] }>('GET', `/sessions/${id}/events`)).body.events
      assert.equal(log.filter(({ kind }) => kind === 'agent.changed').length, 1)
    }
  })
}
