import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proposeMoves } from '../../../src/memory/learn/promote.ts'
import { item, NOW } from './items.ts'

const context = { now: NOW, policy: {}, projectOf: (session: string) => (session.startsWith('s-') ? 'p' : undefined) }
const moves = (...items: ReturnType<typeof item>[]) =>
  proposeMoves(items, context).map(({ item, to, of }) => ({ item, to, of }))

test('a lesson goes from sessions to their project only after it worked often enough in two of them', () => {
  const session = (of: string, successes: number, fields: object = {}) =>
    item({ scope: 'session', of, successes, ...fields })
  const [one, two] = [session('s-1', 2), session('s-2', 1)]
  assert.deepEqual(moves(one, two), [{ item: one.id, to: 'project', of: 'p' }])
  assert.deepEqual(moves(session('s-1', 9)), [], 'one session is one session')
  assert.deepEqual(moves(session('s-1', 1), session('s-2', 1)), [], 'too few')
  assert.deepEqual(moves(session('s-1', 3, { failures: 2 }), session('s-2', 1)), [], 'it fails too often')
  assert.deepEqual(moves(one, two, item()), [], 'the project knows it')
})

test('a lesson goes to all projects when it is proven in two, and nothing from outside or unchecked ever does', () => {
  const [one, two] = [item({ of: 'p', successes: 4 }), item({ of: 'q' })]
  assert.deepEqual(moves(one, two), [{ item: two.id, to: 'global', of: '' }])
  assert.deepEqual(moves(one), [])
  for (const authority of ['external', 'agent'] as const)
    assert.deepEqual(moves(item({ of: 'p', authority }), item({ of: 'q', authority })), [])
  assert.deepEqual(moves(item({ of: 'p', alpha: 0.3 }), item({ of: 'q', alpha: 0.3 })), [], 'it worked long ago')
  const permission = { type: 'permission', trigger: { kind: 'request', text: 'Bash make' } } as const
  assert.deepEqual(
    moves(item({ ...permission, of: 'p', successes: 9 }), item({ ...permission, of: 'q', successes: 9 })),
    [],
  )
})

test('a lesson of all projects that another contradicts returns to its own; what only fails is retired', () => {
  const fact = { kind: 'fact', type: 'convention', trigger: null, action: null, subject: 'Tests' } as const
  const general = item({ ...fact, scope: 'global', of: '', home: 'p', text: 'tests run with jest' })
  const other = item({ ...fact, of: 'q', text: 'tests run with vitest' })
  assert.deepEqual(moves(general, other), [{ item: general.id, to: 'project', of: 'p' }])
  assert.deepEqual(moves(general, item({ ...fact, of: 'q', text: 'tests run with vitest', authority: 'agent' })), [])
  const failing = item({ alpha: 0.4, beta: 3, successes: 1, failures: 3 })
  assert.deepEqual(moves(failing), [{ item: failing.id, to: 'retired', of: 'p' }])
  assert.deepEqual(moves(item({ ...failing, type: 'permission' })), [], 'a refusal is knowledge')
})
