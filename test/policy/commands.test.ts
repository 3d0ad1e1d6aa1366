import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../src/domain/assessment.ts'
import { explainTree } from '../../src/policy/classify/assessment-tree.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'

using classifier = openClassifier({ realPath: path => path })
const assess = (command: string, more: object = {}) =>
  classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u', ...more }) as Assessment
const risk = (command: string, more: object = {}) => assess(command, more).risk
const codes = (command: string) => assess(command).reasons.map(reason => reason.code)

test('a reason points at the words it is about', () => {
  const command = 'npm test && git push -f origin'
  const [reason] = assess(command).reasons
  assert.equal(reason?.code, 'git.force')
  assert.equal(command.slice(...(reason?.at ?? [0, 0])), '-f')
})

test('what is said about a nested text points at the word that holds it', () => {
  const command = `ls; bash -c 'cd x; rm y'`
  const found = assess(command).reasons.find(reason => reason.code === 'file.delete')
  assert.equal(command.slice(...(found?.at ?? [0, 0])), `'cd x; rm y'`)
})

test('a variable that is set once is followed, one that may have changed is not', () => {
  assert.equal(risk('f=a.txt; cat "$f"'), 'LOW')
  assert.equal(risk('f=.env; cat "$f"'), 'HIGH')
  assert.equal(risk('x=ls; $x'), 'LOW')
  assert.equal(risk('x=ls; [ a ] && x=rm; $x y'), 'HIGH')
  assert.equal(risk('x=rm; [ a ] && x=ls; $x y'), 'HIGH')
  assert.equal(risk('x=ls; read x; $x'), 'HIGH')
  assert.equal(risk('x=ls; . ./other.sh; $x'), 'HIGH')
  assert.equal(risk('for c in ls pwd; do $c; done'), 'LOW')
  assert.equal(risk('for c in ls rm; do $c x; done'), 'HIGH')
  assert.equal(risk('x="rm -rf y"; $x'), 'HIGH')
})

test('variables that keep git from running programs of the repository are not taken away', () => {
  for (const command of [
    'env -u GIT_CONFIG_COUNT git status',
    'env -uGIT_CONFIG_COUNT git status',
    'env --unset=GIT_CONFIG_COUNT git status',
    'env -u FOO -u GIT_CONFIG_KEY_0 npm test',
    'env -i git status',
    'env - PATH=/usr/bin /usr/bin/git status',
    'unset GIT_CONFIG_COUNT; git status',
    'GIT_CONFIG_COUNT=0 git status',
  ])
    assert.equal(risk(command), 'HIGH', command)
  assert.equal(risk('env -u FOO git status'), risk('git status'))
  assert.equal(risk('env -i npm test'), risk('npm test'))
})

test('a path that begins with the project and climbs out of it is outside', () => {
  for (const command of [
    'docker run -v /proj/../etc:/x alpine',
    'docker run -v $PWD/../../etc:/x alpine',
    'docker run -v ../../..:/x alpine',
    'ln -s /proj/../etc l',
    'eslint --config /proj/../x.js src',
    'jq -f /proj/../f.jq a.json',
  ])
    assert.equal(risk(command), 'HIGH', command)
  assert.notEqual(risk('docker run -v /proj/data:/x alpine'), 'HIGH')
  assert.notEqual(risk('docker run -v $PWD:/x alpine'), 'HIGH')
  assert.notEqual(risk('eslint --config /proj/x.js src'), 'HIGH')
})

test('a change of folder counts for what comes after it, and a subshell keeps its own', () => {
  assert.equal(risk('cd src && cp a b'), 'MEDIUM')
  assert.equal(risk('cd /etc && cp a b'), 'HIGH')
  assert.equal(risk('cd ~/.ssh && cp a authorized_keys'), 'HIGH')
  assert.deepEqual(codes('(cd /etc && ls); cp a src/b'), ['cwd.outside', 'file.copy'])
})

test('the worktree of a task is the boundary instead of the project', () => {
  const worktree = { worktree: { top: '/trees/t-1', repository: '/proj/.git' } }
  assert.equal(risk('cp a /trees/t-1/src/b', worktree), 'MEDIUM')
  assert.equal(risk('cp a /proj/src/b', worktree), 'HIGH')
})

test('a program is known by a bare name or a system path, never by the end of another path', () => {
  assert.equal(risk('npm test'), 'LOW')
  assert.equal(risk('/usr/bin/npm test'), 'LOW')
  assert.equal(risk('./npm test'), 'MEDIUM')
  assert.equal(risk('/tmp/npm test'), 'HIGH')
  assert.equal(risk('RM x'), 'HIGH')
  assert.equal(risk('NPM test'), 'MEDIUM')
})

test('a function is as risky as its body, wherever it is called', () => {
  assert.equal(risk('f() { echo hi; }; f'), 'LOW')
  assert.equal(risk('f() { rm x; }; f'), 'HIGH')
  assert.equal(risk('npm() { "$@"; }; npm test'), 'HIGH')
  assert.equal(risk(':(){ :|:& };:'), 'HIGH')
})

test('wrappers in wrappers end at eight', () => {
  assert.equal(risk(`${'env '.repeat(5)}ls`), 'LOW')
  assert.equal(risk(`${'env '.repeat(12)}ls`), 'HIGH')
})

test('very many commands are all looked at, or refused', async () => {
  assert.equal(risk(`${'ls;'.repeat(300)} rm x`), 'HIGH')
  const many = `${'ls;'.repeat(2100)}`
  const found = await classifier.classify({ tool: 'Bash', input: { command: many }, project: '/proj', home: '/home/u' })
  assert.deepEqual([found.risk, found.reasons[0]?.code], ['HIGH', 'shell.too-many'])
})

test('a long flag counts in every abbreviation, a short one in every cluster', () => {
  for (const command of [
    'sort -o x a',
    'sort -uo x a',
    'sort -ox a',
    'sort --output=x a',
    'sort --out x a',
    'sort --o x a',
  ])
    assert.equal(risk(command), 'HIGH', command)
  assert.equal(risk('sort -to a'), 'LOW')
  assert.equal(risk('sort -- -o'), 'LOW')
})

test('the same command in other blanks has one normal form, and quoting keeps its own', () => {
  assert.equal(assess('npm   test').normalised, assess(' npm test ').normalised)
  assert.notEqual(assess('echo "a  b"').normalised, assess('echo "a b"').normalised)
})

test('the tree shows every piece with its risk and nothing a terminal would obey', () => {
  const lines = explainTree(assess('cd src && echo "$(rm x)" | cat'))
  assert.deepEqual(lines, [
    'HIGH cd src && echo "$(rm x)" | cat',
    '  LOW cd src',
    '  HIGH echo "$(rm x)" | cat',
    '    HIGH echo "$(rm x)"',
    '      HIGH rm x',
    '        HIGH rm x',
    '          - HIGH file.delete: rm deletes files',
    '    LOW cat',
  ])
  const drawn = explainTree(assess('ls \u001b[2Kx'))
  assert.ok(
    drawn.every(line => /^[\x20-\x7e…␛]*$/.test(line)) && drawn.some(line => line.includes('␛[2K')),
    drawn.join('\n'),
  )
})

test('a word of the shell in place of a program is HIGH: what follows it was not read as a command', () => {
  for (const command of ["A=1 ! A=1 bash -c 'rm -rf x'", 'A=1 if true', 'X=1 { rm x']) {
    assert.equal(risk(command), 'HIGH', command)
  }
  assert.notEqual(risk('! grep -q x src/a.ts'), 'HIGH', 'a plain negation is none')
})
