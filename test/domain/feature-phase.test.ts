import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeatureName } from '../../src/domain/feature.ts'
import { documentIn, endsWithDocument } from '../../src/domain/feature-phase.ts'

test('a document is the text between its tags, or else a text with headings', () => {
  assert.equal(documentIn('Here it is.\n<spec>\n# A\n\ntext\n</spec>\nBye.', 'spec'), '# A\n\ntext\n')
  assert.equal(documentIn('# A\ntext', 'spec'), '# A\ntext\n')
  assert.equal(documentIn('I will write it now.', 'spec'), undefined)
  assert.equal(documentIn('<plan>\n\n</plan>', 'plan'), undefined)
  assert.equal(documentIn('The mark <spec> within a line is none.', 'spec'), undefined)
})

test('a question inside a document is not a question of the turn', () => {
  assert.equal(endsWithDocument('<spec>\n# A\nShall it shine?\n</spec>\n'), true)
  assert.equal(endsWithDocument('Shall it shine?'), false)
})

test('the name of a feature is one plain word, not a path, a flag or an id', () => {
  for (const name of ['paint', 'dark-mode', 'v2.1', 'größe', 'a'])
    assert.equal(FeatureName.safeParse(name).success, true, name)
  const wrong = [
    '',
    '.',
    '..',
    'a/b',
    '../x',
    '-x',
    'a b',
    'x.',
    't-1a2b3c',
    'f-00',
    'a\nb',
    'x'.repeat(64),
    'a\u202eb',
  ]
  for (const name of wrong) assert.equal(FeatureName.safeParse(name).success, false, JSON.stringify(name))
})
