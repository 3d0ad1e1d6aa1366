import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeatureName } from '../../src/domain/feature.ts'
import {
  DOCUMENTS,
  documentIn,
  documentsBefore,
  endsWithDocument,
  FeaturePhase,
  FeatureUntil,
  isLaterPhase,
  nextStop,
  phaseAfterDocument,
} from '../../src/domain/feature-phase.ts'

test('a document is the text between its tags, or else a text with headings', () => {
  assert.equal(documentIn('Here it is.\n<spec>\n# A\n\ntext\n</spec>\nBye.', 'spec'), '# A\n\ntext\n')
  assert.equal(documentIn('# A\ntext', 'spec'), '# A\ntext\n')
  assert.equal(documentIn('I will write it now.', 'spec'), undefined)
  assert.equal(documentIn('<plan>\n\n</plan>', 'plan'), undefined)
  assert.equal(documentIn('The mark <spec> within a line is none.', 'spec'), undefined)
})

test('headings alone, a template and an apology with headings further down are no document', () => {
  for (const text of [
    '<spec>\n# Paint\n\n## What it does\n</spec>',
    '# Paint\n\n- \n- …\n<!-- what it\nis for -->\nTBD.',
  ])
    assert.equal(documentIn(text, 'spec'), undefined, text)
  assert.equal(documentIn('I could not read it.\n\n# What I need\nThe file.', 'spec'), undefined)
  assert.equal(documentIn('This is the spec:\n\n# Paint\nBlue.', 'spec'), '# Paint\nBlue.\n')
  assert.equal(documentIn('<spec>\n# 壁\n青い。\n</spec>', 'spec'), '# 壁\n青い。\n')
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

test('the order of the phases, where each stops and which documents it needs follow from one table', () => {
  const phases = FeaturePhase.options
  assert.deepEqual(phases, ['interview', 'spec', 'plan', 'tasks', 'ready'])
  assert.deepEqual(FeatureUntil.options, ['spec', 'plan', 'tasks'])
  assert.deepEqual(phases.map(nextStop), ['spec', 'spec', 'plan', 'tasks', 'tasks'])
  assert.deepEqual(phases.map(documentsBefore), [[], [], ['spec'], ['spec', 'plan'], ['spec', 'plan']])
  assert.deepEqual(DOCUMENTS.map(phaseAfterDocument), ['plan', 'tasks'])
  const until = FeatureUntil.options.map(stop => phases.filter(phase => !isLaterPhase(phase, stop)).length)
  assert.deepEqual(until, [2, 3, 4])
  for (const kind of DOCUMENTS) assert.ok(endsWithDocument(`It is:\n<${kind}>\nWhy?\n</${kind}>\n`))
})
