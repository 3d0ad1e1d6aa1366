import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Piece } from '../../../src/domain/assessment.ts'
import { explainTree } from '../../../src/policy/classify/assessment-tree.ts'

const piece = (text: string, more: Partial<Piece> = {}): Piece => ({
  text,
  risk: 'LOW',
  reasons: [],
  pieces: [],
  ...more,
})
const tree = (...pieces: Piece[]) => explainTree({ risk: 'LOW', reasons: [], normalised: '', pieces })

test('each piece is a line below the one it is part of, with what is said about it between', () => {
  const reasons = [{ code: 'a.b', risk: 'HIGH' as const, text: 'it is so' }]
  const inner = piece('in', { risk: 'HIGH', reasons, pieces: [piece('deep')] })
  assert.deepEqual(tree(piece('out', { pieces: [inner, piece('other')] }), piece('second')), [
    'LOW out',
    '  HIGH in',
    '    - HIGH a.b: it is so',
    '    LOW deep',
    '  LOW other',
    'LOW second',
  ])
})

test('a request that is one plain command is shown once', () => {
  assert.deepEqual(tree(piece(' ls ', { pieces: [piece('ls')] })), ['LOW ls'])
  assert.deepEqual(tree(piece('ls x', { pieces: [piece('ls')] })), ['LOW ls x', '  LOW ls'])
  assert.deepEqual(tree(piece('ls', { pieces: [piece('ls'), piece('ls')] })), ['LOW ls', '  LOW ls', '  LOW ls'])
  const reasons = [{ code: 'a', risk: 'LOW' as const, text: 'x' }]
  assert.deepEqual(tree(piece('ls', { reasons, pieces: [piece('ls')] })), ['LOW ls', '  - LOW a: x', '  LOW ls'])
  assert.deepEqual(tree(piece('ls')), ['LOW ls'])
})

test('a line is one line, cut at a hundred characters, with nothing in it that a terminal would obey', () => {
  assert.deepEqual(tree(piece('a\n\t b')), ['LOW a b'])
  assert.deepEqual(tree(piece('a\u001b[2K\u202eb\u200b\u0007')), ['LOW a␛[2K⟨U+202E⟩b⟨U+200B⟩␇'])
  assert.deepEqual(tree(piece('x'.repeat(100))), [`LOW ${'x'.repeat(100)}`])
  assert.deepEqual(tree(piece('x'.repeat(101))), [`LOW ${'x'.repeat(99)}…`])
})
