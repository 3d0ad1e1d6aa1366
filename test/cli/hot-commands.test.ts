import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHotCall } from '../../src/cli/hot-commands.ts'

const read = (line: string) => readHotCall(line.split(' ').filter(Boolean))

test('a hot command is parsed with its flags, wherever they are', () => {
  assert.deepEqual(read('list'), { command: 'list', operand: '', flags: {} })
  assert.deepEqual(read('list --json --status running'), {
    command: 'list',
    operand: '',
    flags: { '--json': true, '--status': 'running' },
  })
  assert.deepEqual(read('--data-dir /d status --show-history s-1 --config=/c'), {
    command: 'status',
    operand: 's-1',
    flags: { '--data-dir': '/d', '--show-history': true, '--config': '/c' },
  })
})

test('a call that is not clearly valid is left to commander, which explains the problem', () => {
  for (const line of [
    '',
    'lst',
    'start --task x',
    'start . --task',
    'start . --tsk x',
    'start . --task x --task y',
    'start . extra --task x',
    '--json list',
    '--task start list',
    'list extra',
    'status',
    'status a b',
    'list --jsn',
    'list --status',
    'list --status --json',
    'list --status=',
    'list --json=yes',
    'list --help',
    'list --version',
    'list -h',
    'list --show-history',
    'list --constructor x',
    '--toString list',
  ]) {
    assert.equal(read(line), undefined, line)
  }
})
