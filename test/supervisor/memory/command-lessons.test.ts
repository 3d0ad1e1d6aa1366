import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { findLessons, type KnownFix, readSteps } from '../../../src/supervisor/memory/command-lessons.ts'
import { recordsOfLesson } from '../../../src/supervisor/memory/make-records.ts'

const WHO = { agent: 'claude', role: null, actor: 'daemon' } as const
const ABOUT = { ...WHO, project: 'p-1', folder: 'dir-1', session: 's-1', task: 't-1' }

let last = 0
const event = (kind: StoredEvent['kind'], body: object): StoredEvent =>
  ({ id: ++last, time: 1_000 + last, actor: 'agent', schema_version: 1, subject: 's-1', kind, body }) as StoredEvent
const ran = (command: string, output?: string, tool = 'Bash') =>
  event('tool.finished', {
    call_id: `c-${last}`,
    tool,
    target: command,
    ok: output === undefined,
    output: output ?? '',
  })

function learn(events: StoredEvent[], known: KnownFix[] = []) {
  return findLessons(readSteps(events), { known, isNew: () => true })
}
const fixes = (events: StoredEvent[]) =>
  learn(events).flatMap(lesson => (lesson.kind === 'fix' ? [[lesson.failed.command, lesson.worked.command]] : []))

const NO_TARGET = "make: *** No rule to make target 'check'.  Stop."

test('a command that works after a similar one failed is its fix, and no word of the output becomes part of the lesson', () => {
  const events = [ran('make check', NO_TARGET), ran('ls'), ran('sh check.sh')]
  const [lesson] = learn(events)
  assert.equal(lesson?.kind, 'fix')
  const records = recordsOfLesson(lesson, ABOUT)
  assert.deepEqual(
    records.map(record => [record.kind, record.authority, record.outcome, record.scope, record.evidence]),
    [
      ['episode', 'agent', 'success', 'project', [`event:${events[0]?.id}`, `event:${events[2]?.id}`]],
      ['procedure', 'agent', 'success', 'project', [`event:${events[0]?.id}`, `event:${events[2]?.id}`]],
    ],
  )
  const text = JSON.stringify(records)
  assert.match(text, /`make check` fails here: There is no script or target of that name\./)
  assert.match(text, /"fix":"sh check\.sh"/)
  assert.ok(!text.includes('Stop.'))
  assert.deepEqual(recordsOfLesson(lesson, ABOUT), records, 'the same lesson has the same ids')
})

test('nothing is learned where the code was changed, the tests failed, the file was only looked for, or the call was refused', () => {
  const edited = event('tool.finished', { call_id: 'w', tool: 'Edit', target: 'a.js', ok: true, output: '' })
  const refusal = event('permission.decided', {
    call_id: 'c-x',
    tool: 'Bash',
    target: 'x',
    verdict: 'deny',
    risk: 'LOW',
  })
  const denied = event('tool.finished', { call_id: 'c-x', tool: 'Bash', target: 'make check', ok: false, output: 'no' })
  assert.deepEqual(fixes([ran('make check', NO_TARGET), edited, ran('sh check.sh')]), [])
  assert.deepEqual(fixes([ran('npm test', '# fail 3\n'), ran('npm run test')]), [])
  assert.deepEqual(fixes([ran('grep -r cart src', ''), ran('grep -r cart lib')]), [])
  assert.deepEqual(fixes([refusal, denied, ran('sh check.sh')]), [])
  assert.deepEqual(fixes([ran('make check', NO_TARGET), ran('echo hello')]), [], 'another subject')
  assert.deepEqual(fixes([ran('cat README.md'), ran('Read', undefined, 'Read')]), [])
})

test('a command that fails twice is a dead end, once', () => {
  const lessons = learn([
    ran('pytest', 'pytest: command not found'),
    ran('pytest', 'pytest: command not found'),
    ran('pytest', 'x'),
  ])
  assert.deepEqual(
    lessons.map(({ kind }) => kind),
    ['dead_end'],
  )
})

test('a known fix that is used again succeeds or fails, and a command that works again ends the lesson', () => {
  const known = [{ trigger: 'make check', action: 'sh check.sh' }]
  const outcomes = (events: StoredEvent[]) =>
    learn(events, known).flatMap(lesson => (lesson.kind === 'tried' ? [lesson.ok] : []))
  assert.deepEqual(outcomes([ran('sh check.sh')]), [true])
  assert.deepEqual(outcomes([ran('sh check.sh', 'sh: 0: cannot open check.sh: No such file or directory')]), [false])
  assert.deepEqual(outcomes([ran('sh check.sh', '# fail 2\n')]), [], 'failing tests say nothing about the command')
  assert.deepEqual(outcomes([ran('make check')]), [false])
})
