import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { tempDir } from '../../support/world.ts'
import { startDaemon } from '../daemon-process.ts'
import { realWorld } from './real-world.ts'

// kill -9 of the daemon while work is verified and merged, with the real Claude Code: each task ends once.

const SCENARIO = `
conversations:
  - match: write one
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/one.txt", content: "one" } }]
      - text: Done.
      - tools: [{ Write: { file_path: "{{cwd}}/two.txt", content: "two" } }]
      - text: Done, both.
`

test('a daemon that is killed while it verifies, sends back, commits and merges goes on from the rows: one end, one merge', async t => {
  const world = await realWorld(t, SCENARIO, { 'README.md': '# sample\n' })
  const home = tempDir(t)
  const settings = { PCC_GATES_TEST: 'test -f two.txt' }
  const points = [
    'verify.before-row',
    'landing.before-return',
    'landing.before-commit:2',
    'merge.before-ref',
    'merge.after-ref',
  ]
  let id: string | undefined
  let task = ''
  for (const [life, point] of [...points, undefined].entries()) {
    const env = point === undefined ? {} : { PCC_CRASH_AT: point }
    const daemon = await startDaemon(t, { home, env })
    if (life === 0) {
      task = await world.add(daemon, 'write one')
      id = await world.begin(daemon, { settings })
    }
    if (point !== undefined) {
      await daemon.ended
      continue
    }
    const { outcome, attempts } = await world.over(daemon, id ?? '')
    assert.equal(outcome, 'complete')
    assert.equal(attempts.length, 1, 'the work of the one attempt was never lost')
    const { state, verification } = await world.task(daemon, task)
    assert.deepEqual([state, verification], ['done', 'passed'])
    assert.deepEqual(world.git('ls-tree', '--name-only', 'main').split('\n').sort(), [
      'README.md',
      'one.txt',
      'two.txt',
    ])
    const { events } = (await daemon.call<{ events: StoredEvent[] }>('GET', `/tasks/${task}/log`)).body
    assert.equal(events.filter(({ kind }) => kind === 'task.finished').length, 1)
    const asked = world.simulator.requests.filter(({ prompt }) => prompt.includes('does not hold yet'))
    assert.ok(asked.length > 0, 'its agent heard why')
  }
})
