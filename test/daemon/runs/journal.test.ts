import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JournalPage } from '../../../src/domain/attempt.ts'
import { FAILED, meeting, named } from '../../supervisor/runs/scripts.ts'
import { runWorld } from './run-world.ts'

const KNOWLEDGE = Array.from(
  { length: 7 },
  (_, n) => `<knowledge title="Fact ${n}" tags="paint, f${n}">It is ${n}.</knowledge>`,
)
const REPORT = ['I painted.', '<journal>Red needs two coats.</journal>', ...KNOWLEDGE].join('\n')

test('every attempt is in the journal with what was said of it, and the next task of the run is told', async t => {
  const agent = meeting({ 'paint the wall': [FAILED, { says: () => REPORT }] })
  const world = await runWorld(t, agent)
  const painted = await world.add('paint the wall')
  await world.add('hang the pictures')
  const { id } = await world.run()
  assert.equal((await world.over(id)).outcome, 'complete')
  const page = async (query = '') => (await world.call('GET', `/journal${query}`)).body as JournalPage

  const { entries, total } = await page()
  assert.equal(total, 3)
  assert.deepEqual(
    entries.map(({ run_id, iteration, title, number, outcome }) => [run_id, iteration, title, number, outcome]),
    [
      [id, 3, 'hang the pictures', 1, 'done'],
      [id, 2, 'paint the wall', 2, 'done'],
      [id, 1, 'paint the wall', 1, 'failed'],
    ],
  )
  const [hung, done, failed] = entries
  assert.equal(done?.notes, 'Red needs two coats.', 'what it wrote down, not its last words')
  assert.match(failed?.reason ?? '', /it will not/)
  assert.ok(hung && hung.duration_ms >= 0 && hung.model)
  const last = agent.prompts.at(-1) ?? ''
  assert.equal(named(last), 'hang the pictures')
  assert.match(
    last,
    /In this run, the latest first:\n\n```\nt-\w+ paint the wall, attempt 2: done[^\n]*\n(changed[^\n]*\n)?Red needs two coats\.\n\nt-\w+ paint the wall: failed[^\n]*\nwhy: .*it will not/,
  )

  assert.deepEqual(
    (await page(`?task=${painted}&words=coat`)).entries.map(({ number }) => number),
    [2],
  )
  assert.equal((await page(`?run=${id}&limit=1`)).entries.length, 1)
  assert.equal((await page(`?project=${encodeURIComponent(world.project)}`)).total, 3)
  assert.equal((await page(`?project=${encodeURIComponent(join(world.project, '..'))}`)).total, 0)
  assert.equal((await page(`?since=${Date.now() + 60_000}`)).total, 0)
  for (const [query, status] of [
    ['?run=r-nope', 404],
    ['?task=t-000000', 404],
    ['?limit=0', 400],
    ['?colour=red', 400],
  ] as const)
    assert.equal((await world.call('GET', `/journal${query}`)).status, status, query)
  const folder = join(world.project, '.perpetualcc/knowledge')
  assert.deepEqual(readdirSync(folder).length, 5, 'one attempt may write down only so many')
})

test('an attempt is closed once, however often it is looked at, and its notes are written once', async t => {
  const agent = meeting({
    paint: [{ says: () => '<knowledge title="One" tags="a">It is.</knowledge>\n<journal>x</journal>' }],
  })
  const world = await runWorld(t, agent)
  await world.add('paint')
  const { id } = await world.run()
  await world.over(id)
  for (let n = 0; n < 3; n++) await world.supervisor.runs.lookAtAll()
  assert.equal((await world.store.journal.entries({ limit: 10 })).length, 1)
  assert.deepEqual(readdirSync(join(world.project, '.perpetualcc/knowledge')), ['one.md'])
})

test('a broken note holds nothing up: the run is complete, and who asks for the brief is told', async t => {
  const world = await runWorld(t, meeting({}))
  const folder = join(world.project, '.perpetualcc/knowledge')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'broken.md'), '---\ntitle: [\n---\n')
  writeFileSync(join(folder, 'whole.md'), '---\ntitle: How to paint\ntags: [paint]\n---\nTwo coats.\n')
  const task = await world.add('paint')
  const { body: brief } = await world.call('GET', `/tasks/${task}/brief`)
  assert.match(brief.text, /How to paint \[paint\]\n\(\.perpetualcc\/knowledge\/whole\.md\)\n\nTwo coats\./)
  assert.deepEqual(
    brief.skipped.map(({ file }: { file: string }) => file),
    ['broken.md'],
  )
  assert.equal((await world.over((await world.run()).id)).outcome, 'complete')
})
