import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globFindsSecret, isHistory } from '../../../src/policy/paths/secret-files.ts'

test('what a prompt remembers of its person is a history', () => {
  for (const name of [
    '.bash_history',
    '.zsh_history',
    '.python_history',
    '.psql_history',
    '.lesshst',
    '.viminfo',
    '.node_repl_history',
    '.BASH_HISTORY',
    '.irb_history',
  ])
    assert.ok(isHistory(`/h/${name}`), name)
  for (const name of [
    '.bash',
    'bash_history',
    '.bash_history.md',
    '.zshrc',
    '.python',
    'x.bash_history',
    'history',
    '.bash_historyx',
  ])
    assert.ok(!isHistory(`/h/${name}`), name)
  assert.ok(isHistory('.bash_history'))
})

test('a pattern counts as looking for secrets when it fits one and says more than everyday patterns do', () => {
  const looking = [
    '.e*',
    '.en?',
    '.[e]nv',
    '.*',
    '?env',
    '[.]env',
    '.ss?',
    'x/.aw*',
    '.NETR?',
    'id_*',
    'id*',
    '*.pem',
    '*.key',
    'cred*',
    '*_rsa',
    'secrets.*',
    'serv*.json',
    '?d_rsa',
    'i?_rsa',
    '[i]d_rsa',
    's?????',
    'a/../i*_rsa',
    '*.en?',
    'sh*ow',
    '?hado?',
    '*d_*',
    'pro*',
  ]
  for (const pattern of looking) assert.ok(globFindsSecret(pattern), pattern)
  const everyday = [
    '*',
    '**',
    '*.*',
    '*.json',
    '*.yml',
    '*.yaml',
    '*.txt',
    '*.toml',
    'src/*',
    '*.ts',
    'a*',
    's*',
    '*s',
    '?',
    '??',
    '???',
    '.eslint*',
    'test?',
    'x?',
    '.env',
    'id_rsa',
    '[a]*x',
    '*.js',
    '.x?',
    'p*',
  ]
  for (const pattern of everyday) assert.ok(!globFindsSecret(pattern), pattern)
})

test('a pattern longer than anybody writes is taken for one that looks for secrets', () => {
  assert.ok(globFindsSecret(`${'x'.repeat(128)}*`))
  assert.ok(!globFindsSecret(`${'x'.repeat(127)}*`))
  assert.ok(!globFindsSecret('x'.repeat(200)))
})
