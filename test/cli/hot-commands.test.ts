import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Command } from 'commander'
import { HOT_FLAGS, readHotCall } from '../../src/cli/hot-commands.ts'
import { COMMANDS } from '../../src/cli/table.ts'

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
  assert.deepEqual(read('--quiet task list --all'), {
    command: 'task list',
    operand: '',
    flags: { '--quiet': true, '--all': true },
  })
  assert.deepEqual(read('config get logs.level')?.operand, 'logs.level')
  assert.deepEqual([read('trust status')?.operand, read('trust status /p')?.operand], ['', '/p'])
})

test('commander knows every flag of a hot command, and whether it takes a value', async () => {
  for (const [name, flags] of Object.entries(HOT_FLAGS)) {
    const program = new Command('pcc')
    let command = program
    for (const word of name.split(' ')) {
      if (command === program) await COMMANDS.find(row => row.name === word)?.add(program)
      command = command.commands.find(each => each.name() === word) ?? assert.fail(name)
    }
    for (const [flag, kind] of Object.entries(flags)) {
      const option = command.options.find(({ long }) => long === flag)
      assert.equal(option?.required, kind === 'value', `${name} ${flag}`)
    }
  }
})

test('a hot command passes on every flag that it accepts', () => {
  const source = (path: string) => readFileSync(join(import.meta.dirname, '../../src/cli', path), 'utf8')
  const cases = source('hot-commands.ts')
    .split(/^ {4}case '/m)
    .slice(1)
  for (const [name, flags] of Object.entries(HOT_FLAGS)) {
    const own = cases.find(text => text.startsWith(`${name}'`)) ?? assert.fail(name)
    const reads = name === 'start' ? source('commands/start-session.ts') : own
    for (const flag of Object.keys(flags).filter(flag => flag !== '--json'))
      assert.ok(reads.includes(`'${flag}'`), `${name} ${flag} is accepted and dropped`)
  }
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
    'task',
    'task show t-1',
    'task --json list',
    'task list extra',
    'config get',
    'config get a b',
    'config set a b',
    'trust',
    'trust .',
    'trust --json status',
    'logs',
    'logs -f s-1',
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
