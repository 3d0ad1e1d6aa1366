import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkpointId, save } from '../../../src/agents/checkpoints/save.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { checkpointPage, checkpointTable } from '../../../src/cli/commands/checkpoints.ts'
import { widthOf } from '../../../src/cli/render/text.ts'
import type { CheckpointLine, CheckpointView } from '../../../src/domain/checkpoint.ts'
import { sampleCheckpoint } from '../../agents/checkpoints/sample.ts'
import { pccFor } from '../pcc.ts'
import { plain } from '../render/sample.ts'
import { seed } from '../seeded.ts'

/** Young enough to be kept. */
const AT = Date.now() - 60 * 60_000
const LATER = AT + 61_000
const ID = checkpointId(AT, 0)

/** A session with two checkpoints and a third that a crash of the disk damaged. */
async function seeded(t: TestContext) {
  const pcc = pccFor(t)
  await seed(pcc, [
    { id: 's-abc123', name: 'auth', ended_as: 'rate_limited' },
    { id: 's-000000', name: 'empty' },
  ])
  const dir = join(appPathsFor({ env: pcc.env }).data, 'checkpoints')
  await save(dir, sampleCheckpoint({ timestamp: AT, project_path: pcc.home, modified_files: [] }))
  const later = { timestamp: LATER, reason: 'pause', next_action: 'Write tests\nand run them' } as const
  await save(dir, sampleCheckpoint({ project_path: pcc.home, ...later }))
  const damaged = checkpointId(LATER + 61_000, 0)
  writeFileSync(join(dir, 's-abc123', `${damaged}.json`), '{"version":1,')
  return { pcc, damaged }
}

test('pcc checkpoints lists them newest first with counts and the next action, and names what cannot be used', async t => {
  const { pcc, damaged } = await seeded(t)
  const { code, stdout } = await pcc.run(['checkpoints', 'auth'])
  assert.equal(code, 0)
  const lines = stdout.split('\n')
  assert.equal(lines[0], `${damaged}  cannot be used: it is damaged (not whole JSON)`)
  assert.equal(lines[1]?.split(' ')[0], checkpointId(LATER, 0))
  assert.match(lines[1] ?? '', /^\S+ {2}[\d: -]+ {2}paused +✓ 2 {2}○ 2 {2}1 file {2}2 decisions$/)
  assert.match(lines[2] ?? '', /^ +→ Write tests …$/)
  assert.equal(lines[3]?.split(' ')[0], ID)
  assert.match(lines[3] ?? '', / limit +✓ 2 {2}○ 2 {2}0 files {2}2 decisions$/)
  assert.match(stdout, /pcc resume s-abc123 --from <id>/)

  const json = await pcc.run(['checkpoints', 's-abc', '--json'])
  const { checkpoints } = JSON.parse(json.stdout) as { checkpoints: CheckpointLine[] }
  assert.deepEqual(checkpoints[2], {
    id: ID,
    timestamp: AT,
    reason: 'limit',
    completed: 2,
    pending: 2,
    files: 0,
    decisions: 2,
    next_action: 'Add the login route',
  })
  assert.match((await pcc.run(['checkpoints', 's-000000'])).stdout, /^No checkpoints\. /)
})

test('pcc checkpoints … show prints one with what an agent would be told, the newest good one when none is named', async t => {
  const { pcc, damaged } = await seeded(t)
  const newest = await pcc.run(['checkpoints', 'auth', 'show'])
  assert.equal(newest.code, 0)
  assert.equal(newest.stdout.split('\n')[0], `Checkpoint: ${checkpointId(LATER, 0)}`)
  assert.match(newest.stdout, /\n {2}src\/auth\.ts \(deleted\)\n/)
  assert.match(newest.stdout, /\n {2}CONTEXT RESTORATION:\n(.|\n)*\n {2}Continue from: "Write tests\\nand run them"\n/)
  const first = await pcc.run(['checkpoints', 'auth', 'show', ID.slice(0, -5), '--json'])
  const view = JSON.parse(first.stdout) as CheckpointView
  assert.equal(view.id, ID)
  assert.equal(view.checkpoint.next_action, 'Add the login route')
  assert.match(view.prompt, /^CONTEXT RESTORATION:/)
  const bad = await pcc.run(['checkpoints', 'auth', 'show', damaged])
  assert.equal(bad.code, 2)
  assert.match(bad.stderr, /it is damaged \(not whole JSON\)/)
})

test('a checkpoint, a session or a word that is not known is an error that says what to do', async t => {
  const { pcc } = await seeded(t)
  const unknown = await pcc.run(['checkpoints', 'auth', 'show', '2031'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /has no usable checkpoint "2031"(.|\n)*pcc checkpoints s-abc123/)
  const outside = await pcc.run(['checkpoints', 'auth', 'show', '../../../../etc/passwd', '--json'])
  assert.equal(outside.code, 2)
  assert.equal((JSON.parse(outside.stderr) as { error: { code: string } }).error.code, 'checkpoint_unknown')
  assert.equal((await pcc.run(['checkpoints', 'nobody'])).code, 2)
  const word = await pcc.run(['checkpoints', 'auth', 'shwo'])
  assert.equal(word.code, 2)
  assert.match(word.stderr, /shwo(.|\n)*show/)
})

test('whatever a checkpoint holds, the page keeps to its width and prints no control characters', () => {
  const evil = '\x1b[2Jx\u202e\n'.repeat(40)
  const checkpoint = sampleCheckpoint({ project_path: '/code/\x1b[31mapi', next_action: evil })
  const changed = [{ path: `${evil}.ts`, how: 'changed' as const }]
  const page = checkpointPage({ id: ID, checkpoint, changed, prompt: evil }, plain(60))
  const line = { id: ID, timestamp: AT, reason: 'limit' as const, completed: 1, pending: 1, files: 1, decisions: 1 }
  const lines = [
    { ...line, next_action: evil },
    { id: `${ID}-2`, problem: evil },
  ]
  const table = checkpointTable(lines, { session: 's-abc123', terminal: plain(60) })
  for (const text of [...page, ...table]) assert.doesNotMatch(text, /[\x00-\x1f\x7f-\x9f\u202e]/)
  for (const text of page.slice(-40)) assert.ok(widthOf(text) <= 60, text)
})
