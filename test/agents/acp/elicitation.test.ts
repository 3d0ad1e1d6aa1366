import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Form, fillForm, readQuestions } from '../../../src/agents/acp/gate.ts'
import { ALLOW, asking } from '../conformance/world.ts'
import { stage } from './stage.ts'

function form(properties: Record<string, unknown>, more: Record<string, unknown> = {}): Form {
  return Form.parse({ mode: 'form', message: 'Which one?', requestedSchema: { type: 'object', properties, ...more } })
}

const CHOICES = [
  { const: 'a', title: 'Apple', description: 'red' },
  { const: 'b', title: 'Bear' },
]

test('a field with choices is a question with options, and the answer goes back as the value behind its label', () => {
  const one = form({ pick: { type: 'string', title: 'Fruit', oneOf: CHOICES }, pick_custom: { type: 'string' } })
  const fields = readQuestions(one)
  assert.deepEqual(
    fields.map(field => field.item),
    [
      {
        question: 'Which one?',
        header: 'Fruit',
        multiSelect: false,
        options: [
          { label: 'Apple', description: 'red' },
          { label: 'Bear', description: '' },
        ],
      },
    ],
  )
  const answered = (said: string) => fillForm(one, fields, { answers: { 'Which one?': said }, by: 'test' })
  assert.deepEqual(answered('Bear'), { action: 'accept', content: { pick: 'b' } })
  assert.deepEqual(answered('a pear'), { action: 'accept', content: { pick_custom: 'a pear' } })
})

test('several fields are several questions, each by its own words', () => {
  const many = form({
    parts: { type: 'array', description: 'Which parts?', items: { anyOf: CHOICES } },
    sure: { type: 'boolean', title: 'Sure?' },
    count: { type: 'integer', title: 'How many?' },
    name: { type: 'string', title: 'What name?' },
    size: { type: 'string', title: 'Size?', enum: ['s', 'l'], enumNames: ['small', 'large'] },
  })
  const fields = readQuestions(many)
  assert.deepEqual(
    fields.map(({ item }) => [item.question, item.multiSelect, item.options.map(option => option.label)]),
    [
      ['Which parts?', true, ['Apple', 'Bear']],
      ['Sure?', false, ['yes', 'no']],
      ['How many?', false, []],
      ['What name?', false, []],
      ['Size?', false, ['small', 'large']],
    ],
  )
  const answers = {
    'Which parts?': ['Apple', 'Bear'],
    'Sure?': 'no',
    'How many?': '3',
    'What name?': 'Eve',
    'Size?': 'large',
  }
  assert.deepEqual(fillForm(many, fields, { answers, by: 'test' }), {
    action: 'accept',
    content: { parts: ['a', 'b'], sure: false, count: 3, name: 'Eve', size: 'l' },
  })
})

test('no answer, or none to a field that must have one, is a refusal', () => {
  const one = form({ pick: { type: 'string', oneOf: CHOICES } }, { required: ['pick'] })
  const fields = readQuestions(one)
  assert.deepEqual(fillForm(one, fields, { declined: 'later', by: 'test' }), { action: 'decline' })
  assert.deepEqual(fillForm(one, fields, { answers: { 'Which one?': 'a pear' }, by: 'test' }), { action: 'decline' })
  assert.deepEqual(fillForm(one, fields, { answers: {}, by: 'test' }), { action: 'decline' })
})

test('a form reaches whoever answers; a page to open, and nonsense, reach nobody', async t => {
  const asks = asking(
    () => ALLOW,
    () => ({ answers: { 'Which one?': 'Bear' }, by: 'test' }),
  )
  const { mode, message, requestedSchema } = form({ pick: { type: 'string', oneOf: CHOICES } })
  const { talk, replies } = await stage(
    t,
    {
      prompt: [
        { ask: 'elicitation/create', params: { mode, message, requestedSchema, toolCallId: 'c1' } },
        { ask: 'elicitation/create', params: { mode: 'url', message, url: 'https://example.com' } },
        { ask: 'elicitation/create', params: { mode: 'form', message } },
        { answer: { stopReason: 'end_turn' } },
      ],
    },
    { open: { asks } },
  )
  await talk.turn()
  assert.deepEqual(
    replies().map(one => one.result),
    [{ action: 'accept', content: { pick: 'b' } }, { action: 'decline' }, { action: 'decline' }],
  )
  assert.equal(asks.questions.length, 1)
  assert.equal(talk.all('question')[0]?.callId, 'c1')
})
