import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QuestionItem } from '../../src/domain/session.ts'
import { readAnswer } from '../../src/human/read-answer.ts'

const by = 'human'

test('a number chooses the option that is shown with it, a label itself, and other words stay words', () => {
  assert.deepEqual(chosen('1', item(['red', 'blue'])), ['red'])
  assert.deepEqual(chosen(' BLUE ', item(['red', 'blue'])), ['blue'])
  assert.deepEqual(chosen('a bit of both', item(['red', 'blue'])), ['a bit of both'])
  assert.deepEqual(chosen('1,2', item(['red', 'blue'])), ['1,2'], 'only one may be chosen')
  assert.deepEqual(chosen('42', item([])), ['42'], 'without options a number is an answer')
  assert.deepEqual(chosen('2', item(['4', '2'])), ['2'])
  assert.deepEqual(chosen('1', item(['4', '2'])), ['4'], 'the place counts before the label')
  assert.deepEqual(chosen('4', item(['4', '8'])), ['4'], 'a label that is a number, where no place has it')
})

test('of several options each is chosen once, by number or label', () => {
  const many = item(['red', 'blue', 'green'], true)
  assert.deepEqual(chosen('1, 3', many), [['red', 'green']])
  assert.deepEqual(chosen('blue,2,Blue', many), [['blue']])
  assert.deepEqual(chosen('red, and a little blue', many), ['red, and a little blue'])
  assert.match(problem('1,7', many), /there is no option 7: choose 1 to 3/)
})

test('an answer of 64 KB is taken, one more byte is not, and bytes count, not letters', () => {
  const open = item([])
  assert.deepEqual(chosen('x'.repeat(65_536), open), ['x'.repeat(65_536)])
  assert.match(problem('x'.repeat(65_537), open), /longer than 64 KB/)
  assert.match(problem('ü'.repeat(32_769), open), /longer than 64 KB/)
})

test('too few or too many answers are counted in words', () => {
  const given = (answer: string[], deps: number) =>
    problemOf(
      readAnswer(
        { answer, by },
        Array.from({ length: deps }, () => item([])),
      ),
    )
  assert.equal(
    given(['a'], 2),
    'it asks 2 questions, and one answer was given; put each into quotes: "answer 1" "answer 2"',
  )
  assert.equal(given(['a', 'b'], 1), 'it asks one question, and 2 answers were given; put it into quotes')
})

test('a permission takes a verdict and no words, a question words or a no', () => {
  assert.deepEqual(readAnswer({ verdict: 'deny', reason: 'no', by }, undefined), { verdict: 'deny', reason: 'no', by })
  assert.match(problemOf(readAnswer({ answer: 'yes', by }, undefined)), /it is a permission: say --approve or --deny/)
  assert.match(problemOf(readAnswer({ verdict: 'allow', by }, [item([])])), /it is a question/)
  assert.deepEqual(readAnswer({ verdict: 'deny', by }, [item([])]), { verdict: 'deny', reason: undefined, by })
})

test('only an answer to a question can be said to count always', () => {
  const always = 'project'
  assert.match(problemOf(readAnswer({ verdict: 'allow', by, always }, undefined)), /for a permission write a rule/)
  assert.match(problemOf(readAnswer({ verdict: 'deny', by, always }, [item([])])), /only the answer to a question/)
  const read = readAnswer({ answer: 'x', by, always }, [item([])])
  assert.equal('problem' in read ? read.problem : read.always, 'project')
})

function item(labels: string[], multiSelect = false): QuestionItem {
  return { question: 'Which?', header: '', multiSelect, options: labels.map(label => ({ label, description: '' })) }
}

function chosen(answer: string, question: QuestionItem): unknown {
  const read = readAnswer({ answer, by }, [question])
  assert.ok(!('problem' in read), JSON.stringify(read))
  return read.answer
}

function problem(answer: string, question: QuestionItem): string {
  return problemOf(readAnswer({ answer, by }, [question]))
}

function problemOf(read: ReturnType<typeof readAnswer>): string {
  assert.ok('problem' in read, JSON.stringify(read))
  return read.problem
}
