import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequirements } from '../../../src/tasks/requirements/requirements.ts'
import { openTexts } from './a-file.ts'

const read = async (text: string, path = 'r.txt') => (await parseRequirements(path, text)).requirements

test('labels begin sections of plain text, in which every line is an item and indented ones go on', async () => {
  const found = await read(`Project: Notes
Overview:
A small API.

Tasks:
Add login
  with JWT
Add search

Preferences:
Database: PostgreSQL
Avoid: MySQL, Mongo
Constraints: must run offline
`)
  assert.deepEqual(found, {
    title: 'Notes',
    overview: 'A small API.',
    tasks: [
      { text: 'Add login\nwith JWT', done: false, priority: 0, depends_on: [], line: 6 },
      { text: 'Add search', done: false, priority: 0, depends_on: [], line: 8 },
    ],
    preferences: [
      { key: 'Database', value: 'PostgreSQL' },
      { key: '', value: 'avoid MySQL; avoid Mongo' },
    ],
    constraints: ['must run offline'],
  })
})

test('a text that is a list and nothing else is a list of tasks; any other is one task as a whole', async () => {
  assert.deepEqual(openTexts(await read('1. one\n2. two\n   more\n\n3) three\n')), ['one', 'two\nmore', 'three'])
  assert.deepEqual((await read('Build a thing.\n\n- fast\n- small\n')).tasks, [])
})

test('boxes and headings make Markdown of a text, whatever its name', async () => {
  for (const path of ['r.txt', 'REQUIREMENTS', 'notes.org']) {
    assert.deepEqual(openTexts(await read('Do:\n\n- [ ] one\n- [x] two\n', path)), ['one'])
    assert.equal((await read('# Project: N\n\nText.\n', path)).title, 'N')
  }
})
