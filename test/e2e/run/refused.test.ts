import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Report } from '../../../src/domain/report.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'
import { plan } from './plan.ts'

const REMOVE = '{ Bash: { command: rm -rf legacy, description: Remove what is old } }'
const SCENARIO = `
conversations:
  - match: remove the old code
    turns:
      - tools: [${REMOVE}]
      - text: "It may not be removed.\\n\\n<promise>FAILURE: rm -rf legacy was refused</promise>"
      - tools: [${REMOVE}]
      - text: The old code is gone.
  - match: write the news
    turns: [{ text: There are no news. }]
`

test('a task that was refused something waits as one row everywhere, and a yes at the terminal does it again', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  mkdirSync(join(project, 'legacy'))
  writeFileSync(join(project, 'legacy', 'old.txt'), 'old')
  execFileSync('git', ['-C', project, 'add', '.'])
  execFileSync('git', ['-C', project, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'old code'])
  const ids = await plan(pcc, project, [['remove the old code'], ['write the news']])
  const task = ids.get('remove the old code') ?? ''
  const board = onTerminal(t, pcc, ['run', project, '--no-verify'])
  await board.see(new RegExp(`✓ ${ids.get('write the news')} write the news done`))

  const page = JSON.parse((await pcc.run(['pending', '--json'])).stdout)
  assert.deepEqual(
    page.needs.map(({ kind, task_id, title, next }: Record<string, string>) => [kind, task_id, title, next]),
    [['refused', task, 'remove the old code', 'pcc respond 1 --approve --again']],
  )
  assert.deepEqual([page.refused, page.escalations.length], [[], 1])
  assert.match((await pcc.run(['list'])).stdout, /\n1 thing waits for you: pcc pending\n/)
  assert.match((await pcc.run([])).stdout, /\n1 thing waits for you: pcc pending\n {3}1 {2}Perm\. .*rm -rf legacy/)
  const report = JSON.parse((await pcc.run(['report', '--json'])).stdout) as Report
  assert.deepEqual(report.waiting, page.needs)
  const shown = JSON.parse((await pcc.run(['task', 'show', task, '--json'])).stdout)
  assert.deepEqual([shown.task.state, shown.task.attempt, shown.task.retries], ['waiting', 1, 0], 'it is not retried')

  const answer = onTerminal(t, pcc, ['respond', '1', '--approve'])
  await answer.see(/Allow exactly this once and do the task again\? \[Y\/n\]/)
  answer.type('y\r')
  await answer.see(/Allowed once: decision 1 (.|\n)*The task goes on/)
  assert.equal(await answer.exit, 0)
  await board.see(/complete, every task is done/)
  assert.equal(await board.exit, 0)
  assert.equal(existsSync(join(project, 'legacy')), false, 'it was removed and merged')
  assert.equal((await pcc.run(['pending'])).stdout, 'Nothing waits for you.\n')
})
