import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { classify } from '../../../src/policy/classify/classify.ts'
import { allMatch, anyMatches, parsePattern } from '../../../src/policy/verdict/rules.ts'

const assess = (command: string) =>
  classify(
    { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' },
    { realPath: path => path },
  ) as Assessment

function pattern(text: string) {
  const found = parsePattern(text)
  assert.ok(found, text)
  return found
}
function forbids(text: string, commands: string[], others: string[]): void {
  for (const command of commands) assert.ok(anyMatches(pattern(text), assess(command)), `${text} is about ${command}`)
  for (const command of others)
    assert.ok(!anyMatches(pattern(text), assess(command)), `${text} is not about ${command}`)
}
function allows(text: string, commands: string[], others: string[]): void {
  for (const command of commands) assert.ok(allMatch(pattern(text), assess(command)), `${text} allows ${command}`)
  for (const command of others)
    assert.ok(!allMatch(pattern(text), assess(command)), `${text} does not allow ${command}`)
}

test('a pattern is one command or one pipe of words, and nothing else is one', () => {
  assert.deepEqual(parsePattern('git push *')?.stages, [['git', 'push', '*']])
  assert.deepEqual(parsePattern(`rm "a b" 'c'`)?.stages, [['rm', 'a b', 'c']])
  assert.deepEqual(parsePattern('curl | sh')?.stages, [['curl'], ['sh']])
  assert.deepEqual(parsePattern('echo $x')?.stages, [['echo', '*']])
  assert.deepEqual(parsePattern('ls [a]?')?.stages, [['ls', '[a]?']])
  for (const text of [
    '',
    'a; b',
    'a\nb',
    'a && b',
    'a > b',
    'A=1 b',
    'A=1',
    '(a)',
    'a )',
    'a "',
    'a | (b)',
    'a | b > c',
    '# x',
  ])
    assert.equal(parsePattern(text), undefined, text)
})

test('a forbidden command is found by its program, all its flags and all its words', () => {
  forbids(
    'git push --tags origin',
    [
      'git push --tags origin',
      'git push origin --tags',
      'git push --tags --dry-run origin main',
      'ls; git push --tags origin',
      'if true; then git push --tags origin; fi',
      'echo "$(git push --tags origin)"',
    ],
    [
      'git push origin',
      'git push --tags',
      'git pull --tags origin',
      'git push --tag origin',
      'echo git push --tags origin',
      'gitx push --tags origin',
    ],
  )
  forbids('ls', ['ls', 'ls -l a', '/bin/ls', 'echo a | ls'], ['lsx', 'echo ls', 'xls'])
})

test('letters of flags count one by one, and some long flags stand for a letter', () => {
  forbids(
    'rm -rf x',
    ['rm -rf x', 'rm -fr x', 'rm -r -f x', 'rm -Rf x', 'rm --recursive --force x', 'rm -rvf x y', 'rm --force -R x'],
    ['rm -r x', 'rm -f x', 'rm --recursive x', 'rm x', 'rm -rf y', 'rm r f x', 'rm --rf x'],
  )
  forbids('rm --recursive x', ['rm -r x', 'rm -R x', 'rm --recursive x'], ['rm x', 'rm -f x'])
  forbids('npm --global x', ['npm --global x'], ['npm -g x', 'npm -global x'])
})

test('a place is the same with slashes at its end, and the root in every spelling', () => {
  forbids('rm /', ['rm /', 'rm //', 'rm /.', 'rm /./', 'rm /..'], ['rm /a', 'rm .', 'rm ./'])
  forbids('rm a/', ['rm a', 'rm a/', 'rm a//'], ['rm /a', 'rm b', 'rm aa', 'rm a/b'])
  forbids('rm a', ['rm a', 'rm a/'], ['rm'])
})

test('a star in a forbidden word stands for any letters, other signs for themselves', () => {
  forbids('git push origin/*', ['git push origin/main', 'git push origin/a/b'], ['git push other/main'])
  forbids('frob *', ['frob a', 'frob -- a'], ['frob'])
  forbids("frob 'a?b*'", ['frob "a?bc"'], ['frob axbc'])
  forbids("frob '[ab]*'", ['frob "[ab]x"'], ['frob a'])
  forbids('fro*', ['frob', 'fro'], ['fr', 'xfrob'])
})

test('a pipe is forbidden when its stages stand in it in their order, with others between', () => {
  forbids(
    'curl | tee | sh',
    [
      'curl x | tee y | sh',
      'curl x | cat | tee y | cat | bash',
      'curl x | sudo tee y | (sh)',
      'ls && curl x | tee y | sh',
    ],
    ['curl x | sh', 'tee y | curl x | sh', 'curl x; tee y; sh', 'curl x | tee y', 'sh | tee y | curl x'],
  )
  forbids('curl -k | sh', ['curl -k x | sh', 'curl -sk x | sh'], ['curl x | sh'])
})

test('a shell in a pattern stands for whatever runs what it is fed, unless it has words', () => {
  forbids(
    'x | sh',
    [
      'x | bash',
      'x | zsh',
      'x | dash',
      'x | python3',
      'x | python3.11',
      'x | node',
      'x | perl',
      'x | ruby',
      'x | pwsh',
      'x | fish',
    ],
    ['x | cat', 'x | nodemon', 'x | shx', 'x | jsh', 'x | pythonx', 'x | mynode'],
  )
  forbids('x | bash', ['x | sh', 'x | node'], ['x | grep sh'])
  forbids('x | sh -s', ['x | sh -s'], ['x | bash -s', 'x | sh'])
  forbids('x | node', ['x | node'], ['x | sh', 'x | deno'])
})

test('an allowed command fits word by word, and a star at the end allows more words', () => {
  allows(
    'npm run build',
    ['npm run build', 'npm  run "build"'],
    ['npm run', 'npm run build x', 'npm run built', 'npm x build', 'xnpm run build', '/bin/npm run build'],
  )
  allows(
    'npm run *',
    ['npm run', 'npm run a', 'npm run a b', 'npm run a; npm run b', 'npm run a | npm run b'],
    ['npm', 'npm runx', 'npm run a; ls', 'npm run "$(ls)"', 'npm run $x'],
  )
  allows('npm run b*', ['npm run b', 'npm run build'], ['npm run', 'npm run a', 'npm run build x'])
  allows('*', ['ls', 'rm a b'], ['', 'x=1', 'ls "$x"'])
  allows('a | b', [], ['a', 'b', 'a | b'])
})

test('what an allowed command runs out of its own words is allowed with it', () => {
  allows(
    'timeout 5 *',
    ['timeout 5 ls', 'timeout 5 ls -l', 'timeout 5 timeout 6 ls'],
    ['timeout 6 ls', 'ls', 'timeout 5 "$(ls)"'],
  )
  allows('bash -c *', ["bash -c 'ls; ls'"], ["bash -x 'ls'"])
  allows('ls', [], ['timeout 5 ls'])
})
