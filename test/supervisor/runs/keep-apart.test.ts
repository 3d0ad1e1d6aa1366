import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openStore } from '../../../src/store/open.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { HeldBackTasks } from '../../../src/supervisor/runs/begin-next.ts'
import {
  chooseApart,
  findKeptApart,
  keepApart,
  likelyPaths,
  mayMeet,
  type Touching,
} from '../../../src/supervisor/runs/choose-task.ts'
import { tempDir } from '../../support/world.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

const TABLE: [string, string, boolean][] = [
  ['src/api', 'src/api', true],
  ['src/api', 'src/api/users.ts', true],
  ['src/api', 'src/apis', false],
  ['src/api/users.ts', 'src/api/posts.ts', false],
  ['src', 'docs', false],
  ['src/**', 'src/a/b.ts', true],
  ['src/**/*.test.ts', 'src/a/b.test.ts', true],
  ['src/**/*.test.ts', 'src/a/b.ts', false],
  ['**/*.md', 'docs', true],
  ['docs/*.md', 'docs/runs.md', true],
  ['docs/*.md', 'docs/adr/0001.md', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['*.ts', '*.js', false],
  ['a*', '*b', true],
  ['src/{a,b}.ts', 'src/c.ts', true],
  ['src/[ab].ts', 'docs/c.ts', false],
  ['**', 'anything/at/all', true],
  ['etc/conf.d', 'etc/conf.d/one', true],
]

test('two paths meet where one file may be meant by both', () => {
  for (const [a, b, meet] of TABLE) assert.equal(mayMeet(a, b), meet, `${a} and ${b}`)
})

const part = fc.constantFrom('a', 'b', 'ab', 'a.ts', 'b.ts', '*', '*.ts', 'a*', '?', '**')
const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'))
/** Only the last name of a path may look like that of a file. */
const file = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', 'ab', 'c'), { maxLength: 4 }),
    fc.constantFrom('a', 'b', 'a.ts', 'b.ts', 'c'),
  )
  .map(([folders, name]) => [...folders, name].join('/'))

/** Whether a pattern matches a file or a folder above it, computed in another way than by the tested code. */
function means(pattern: string, file: string): boolean {
  const source = pattern
    .split('/')
    .map(part =>
      part === '**' ? '(?:[^/]+/)*' : `${part.replace('.', '[.]').replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}/`,
    )
    .join('')
  return new RegExp(`^${source}`).test(`${file}/`)
}

test('a file that two patterns mean is one at which they meet, whichever of them is named first', () => {
  fc.assert(
    fc.property(pattern, pattern, file, (a, b, path) => {
      assert.equal(mayMeet(a, b), mayMeet(b, a))
      if (means(a, path) && means(b, path)) assert.ok(mayMeet(a, b), `${a} and ${b} at ${path}`)
      if (!path.endsWith('.ts')) assert.equal(mayMeet(a, path), means(a, path) || isAbove(path, a), `${a} at ${path}`)
    }),
    { numRuns: 400 },
  )
})

/** Whether a pattern matches some file below a path, tried with all names that the patterns are made of. */
function isAbove(path: string, pattern: string): boolean {
  const names = ['a', 'b', 'ab', 'a.ts', 'b.ts', 'x', 'x.ts', 'ax']
  const two = names.flatMap(one => names.map(other => `${one}/${other}`))
  const three = two.flatMap(one => names.map(other => `${one}/${other}`))
  return [...names, ...two, ...three].some(below => means(pattern, `${path}/${below}`))
}

const task = (id: number, paths: string[]): Touching => ({ id: `t-${id}`, title: `task ${id}`, paths })

test('tasks that are begun one after the other never touch what another one at work touches, and the line goes on', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(pattern, { maxLength: 3 }), { maxLength: 8 }),
      fc.integer({ min: 1, max: 4 }),
      (all, most) => {
        let ready = all.map((paths, index) => task(index, paths))
        const order = ready.map(({ id }) => id)
        const begun: string[] = []
        while (ready.length > 0) {
          const atWork: Touching[] = []
          for (;;) {
            const { next, apart } = keepApart(ready, atWork)
            const found = ready.find(({ id }) => id === next)
            for (const { id, beside, path } of apart) {
              const other = atWork.find(task => task.id === beside)
              assert.ok(
                other?.paths.some(theirs => mayMeet(theirs, path)),
                `${id} waits for nothing`,
              )
            }
            if (!found || atWork.length === most) break
            for (const mine of found.paths)
              for (const other of atWork) assert.ok(!other.paths.some(theirs => mayMeet(mine, theirs)))
            atWork.push(found)
            ready = ready.filter(task => task !== found)
          }
          assert.ok(atWork.length > 0, 'where nothing is at work the first may always begin')
          begun.push(...atWork.map(({ id }) => id))
        }
        assert.deepEqual(begun.toSorted(), order.toSorted(), 'each is begun once')
      },
    ),
  )
})

test('what is ready is taken in its order, and one of which nothing is known waits for nobody', () => {
  const atWork = [task(9, ['src/api'])]
  const ready = [task(1, ['src/api/users.ts']), task(2, []), task(3, ['docs'])]
  assert.deepEqual(keepApart(ready, atWork), {
    next: 't-2',
    apart: [{ id: 't-1', title: 'task 1', beside: 't-9', path: 'src/api/users.ts' }],
  })
})

test('what was declared counts alone; else what its own and its parent’s attempts changed, and what several siblings did', () => {
  const changed = (task_id: string, ...files: string[]) => ({ task_id, files })
  const changes = {
    own: [changed('t-1', 'src/one.ts')],
    parent: [changed('t-0', 'src/whole.ts')],
    siblings: [
      changed('t-2', 'src/routes.ts', 'src/two.ts'),
      changed('t-2', 'src/two.ts'),
      changed('t-3', 'src/routes.ts'),
    ],
  }
  assert.deepEqual(likelyPaths({ declared: ['docs'], ...changes }), ['docs'])
  assert.deepEqual(likelyPaths({ declared: [], ...changes }), ['src/one.ts', 'src/whole.ts', 'src/routes.ts'])
})

test('where paths are not known, what the tasks say decides; a task waits only for one that is at work', async () => {
  const asked: string[] = []
  const findLikely = async ({ id }: Touching, others: readonly Touching[]) => {
    asked.push(`${id} with ${others.map(other => other.id).join(' and ')}`)
    return id === 't-1' ? { beside: 't-9', path: 'src/api' } : undefined
  }
  const [declared, undeclared] = [task(8, ['src/web']), task(9, [])]
  const ready = [task(1, []), task(2, ['src/web']), task(3, ['docs']), task(4, [])]
  assert.deepEqual(await chooseApart(ready, [declared, undeclared], findLikely), {
    next: 't-3',
    apart: [
      { id: 't-1', title: 'task 1', beside: 't-9', path: 'src/api' },
      { id: 't-2', title: 'task 2', beside: 't-8', path: 'src/web' },
    ],
  })
  assert.deepEqual(asked, ['t-1 with t-8 and t-9', 't-3 with t-9'], 'two tasks whose paths are known are not compared')
  assert.equal((await chooseApart(ready, [], findLikely)).next, 't-1', 'beside nothing the first begins')
})

test('what the last choice kept apart by its words is shown with its reason, until the other task is over', async t => {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const { tasks } = sessionDepsOn(store)
  const add = (text: string) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: '/p', text }, tx).then(({ id }) => id))
  const [first, second] = [await add('round the total'), await add('print the total')]
  await store.sessions.insert({ id: 's-1', name: 's', project: '/p', task: 't', agent: 'claude', task_id: first })
  await store.transaction(tx =>
    tasks.claimReady({ scope: { project: '/p' }, run: 'r-1', session: 's-1', only: first }, tx),
  )
  const run = { id: 'r-1', project: '/p', target: { kind: 'project' } } as RunRow
  const held = new HeldBackTasks({ now: () => 0 })
  held.noteApart('r-1', [{ id: second, title: 'print the total', beside: first, path: '.' }])
  const why = `${second} (print the total) is kept apart from ${first}, which is at work, because both will probably change files at the top of the project`
  assert.deepEqual(
    (await findKeptApart(run, held.apartIn('r-1'), store)).map(apart => apart.why),
    [why],
  )
  await store.transaction(tx => tasks.transition(first, { to: 'done', verification: 'passed' }, tx))
  assert.deepEqual(await findKeptApart(run, held.apartIn('r-1'), store), [])
  held.forget('r-1')
  assert.deepEqual(held.apartIn('r-1'), [])
})
