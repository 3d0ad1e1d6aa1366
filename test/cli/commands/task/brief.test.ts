import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pccFor } from '../../pcc.ts'

test('pcc task brief prints the brief of a task with its criteria, and on stderr what was cut', async t => {
  const pcc = pccFor(t)
  const added = await pcc.run(['task', 'add', 'Fix the login', '--accept', 'npm test passes', '--json'], {
    cwd: pcc.home,
  })
  assert.equal(added.code, 0, added.stderr)
  const { task } = JSON.parse(added.stdout)
  const shown = await pcc.run(['task', 'brief', task.id])
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /^## How to work\n/)
  assert.ok(
    shown.stdout.endsWith(`## Your task: ${task.id}\n\nFix the login\n\n## It is done when\n\n- npm test passes\n`),
  )
  const json = await pcc.run(['task', 'brief', task.id, '--json'])
  const brief = JSON.parse(json.stdout)
  assert.deepEqual([brief.task, `${brief.text}\n`, brief.dropped], [task.id, shown.stdout, []])

  const criteria = Array.from({ length: 40 }, (_, index) => ['--accept', `${index}: ${'a long line '.repeat(40)}`])
  const long = ['task', 'update', task.id, ...criteria.flat()]
  assert.equal((await pcc.run(long)).code, 0)
  assert.match((await pcc.run(['task', 'brief', task.id])).stderr, /^Cut: acceptance, about \d+ tokens\.$/m)
  assert.notEqual((await pcc.run(['task', 'brief', 't-ffffff'])).code, 0)
})
