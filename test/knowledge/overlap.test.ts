import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OverlapPredictor } from '../../src/knowledge/overlap.ts'
import { indexedProject } from './index/an-index.ts'

test('tasks that speak of the same part of a project will probably change the same files, others will not', async t => {
  const filler = Array.from({ length: 12 }, (_, at) => [
    `src/other${at}/part${at}.ts`,
    `export const filler${at} = ${at}\n`,
  ])
  const { index } = indexedProject(t, {
    'src/invoices/total.ts': 'export function computeInvoiceTotal() { return roundCurrency(1) }\n',
    'src/invoices/print.ts': 'export function printInvoice() {}\n',
    'src/login/session.ts': 'export function openLoginSession() {}\n',
    ...Object.fromEntries(filler),
  })
  const about = (id: string, text: string, paths: string[] = []) => ({ id, text, paths })
  const task = about('t-1', 'Round the total of an invoice to whole cents')
  const others = [
    about('t-2', 'The printed invoice shows its total twice'),
    about('t-3', 'A login session ends after an hour'),
    about('t-4', 'Something else', ['src/invoices/total.ts']),
  ]
  const { answer } = await index.ask(file => new OverlapPredictor().predict(file, task, others), { freshMs: 60_000 })
  const [same, other, declared] = answer
  assert.ok(same && other && declared)
  assert.equal(same.path, 'src/invoices')
  assert.ok(same.probability > 2 * other.probability, `${same.probability} and ${other.probability}`)
  assert.ok(declared.probability > other.probability)
})

test('in a small project, tasks with few words in common are not kept apart; those that name the same file are', async t => {
  const plan = [
    'Validate ISBN numbers\n\nWrite src/isbn.js with a function isIsbn and a test.',
    'Make slugs from titles\n\nWrite src/slug.js with a function slug and a test.',
    'Format prices in euros\n\nWrite src/price.js with a function euro and a test.',
    'Remove the legacy folder\n\nNobody uses legacy/ any more.',
    'Describe the usage in the README\n\nOne paragraph and one example.',
  ]
  const { index } = indexedProject(t, {
    'package.json': '{ "name": "bookshelf", "scripts": { "test": "node --test" } }\n',
    'README.md': '# Bookshelf\n',
    'plan.md': plan.map(text => `- [ ] ${text.replace('\n\n', '\n  ')}`).join('\n'),
    'src/shelf.js': 'export function addBook(shelf, book) { return [...shelf, book] }\n',
    'test/shelf.test.js': "test('a book is added', () => assert.equal(addBook([], { title: 'x' }).length, 1))\n",
    'legacy/old.js': 'old\n',
  })
  const tasks = plan.map((text, at) => ({ id: `t-${at}`, text, paths: [] }))
  const again = {
    id: 't-again',
    text: 'Accept ISBN numbers with ten digits\n\nChange isIsbn in src/isbn.js.',
    paths: [],
  }
  const pairs = tasks.flatMap((task, at) => tasks.slice(at + 1).map(other => [task, other] as const))
  const { answer } = await index.ask(
    file => {
      const predictor = new OverlapPredictor()
      return {
        apart: pairs.flatMap(([task, other]) => predictor.predict(file, task, [other])),
        same: predictor.predict(file, again, tasks.slice(0, 1)),
      }
    },
    { freshMs: 60_000 },
  )
  for (const { id, probability } of answer.apart) assert.ok(probability < 0.5, `${id}: ${probability}`)
  assert.ok((answer.same[0]?.probability ?? 0) > 0.5)
  assert.equal(answer.same[0]?.path, 'src')
})
