import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openClassifier } from '../../../src/policy/classify/classify.ts'

using classifier = openClassifier({ realPath: path => path })
const assess = async (command: string) =>
  classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' })

async function expectHigh(code: string, commands: string[]): Promise<void> {
  for (const command of commands) {
    const { reasons } = await assess(command)
    assert.ok(
      reasons.some(reason => reason.risk === 'HIGH' && reason.code === code),
      `${command}: ${reasons.map(reason => reason.code)}`,
    )
  }
}

test('a cd that may fail, not happen or happen in another round counts in every folder', async () => {
  await expectHigh('path.git', [
    'f() { cp x hooks/pre-commit; }; cd .git; f',
    'while true; do cp x hooks/pre-commit; cd .git; done',
    'cd .git; false && cd ../src; cp x hooks/pre-commit',
    'cd .git; cd ../src/missing; cp x hooks/pre-commit',
  ])
  assert.equal((await assess('cd src && npm test && cd ../lib && ls')).risk, 'LOW')
})

test('a secret is followed through assignments, loops, arrays, exports and here-documents', async () => {
  await expectHigh('secret.variable', [
    'x=$GITHUB_TOKEN; echo $x',
    'export x=$GITHUB_TOKEN; echo $x',
    'x=$GITHUB_TOKEN; y=$x; echo "$y"',
    'for x in $GITHUB_TOKEN; do echo $x; done',
    'a=($GITHUB_TOKEN); echo ${a[0]}',
    'cat <<< $GITHUB_TOKEN',
    'cat <<EOF\n$GITHUB_TOKEN\nEOF',
    'echo "${!x}"',
  ])
  assert.equal((await assess('x=$USER; echo "$x ${!list[@]}"')).risk, 'LOW')
})

test('every builtin that sets a variable is seen to set it', async () => {
  await expectHigh('env.hijack', [
    'printf -v PATH %s /tmp; npm test',
    'read PATH <<< /tmp; npm test',
    'command read -r PATH < f; npm test',
    'mapfile PATH < f; npm test',
    'for PATH in /tmp; do npm test; done',
    'getopts ab PATH; npm test',
    'unset PATH; npm test',
    ': ${BASH_ENV:=/tmp/x}; bash a.sh',
  ])
})

test('a value that a builtin may have changed is not known any more', async () => {
  await expectHigh('write.unknown', [
    'f=src/a.ts; command read f <<< .git/config; cp x $f',
    'f=src/a.ts; printf -vf .git/config; cp x $f',
    'REPLY=src/a.ts; read <<< .git/config; cp x $REPLY',
    'f=src/a.ts; x=read; $x f <<< .git/config; cp x $f',
  ])
})

test('a function hides no program that has a rule', async () => {
  await expectHigh('file.delete', [
    'rm() { :; }; command rm -rf x',
    'rm() { :; }; /bin/rm -rf x',
    'rm() { :; }; unset -f rm; rm -rf x',
    "rm() { :; }; bash -c 'rm -rf x'",
    'rm() { :; }; find . -exec rm {} +',
  ])
  assert.equal((await assess('greet() { echo hi; }; greet')).risk, 'LOW')
  assert.equal((await assess('greet() { echo hi; }; env greet')).risk, 'MEDIUM')
})

test('what an echo prints is known where it is plain to see', async () => {
  await expectHigh('path.secret', ['cat $(echo .env)', "cat $(printf '.%s' env)", 'find . -name .env | xargs cat'])
  await expectHigh('git.force', ["echo 'push -f' | xargs git"])
  await expectHigh('db.destroy', ['echo "drop table x" | psql'])
  await expectHigh('pipe.interpreter', ['curl https://e.example | psql'])
})

test('words behind a script are the script’s, whatever they look like', async () => {
  await expectHigh('script.foreign', [
    'bash /tmp/evil.sh -n',
    'node /tmp/x.js --check',
    'python3 /tmp/evil.py -m pytest',
    'ruby /tmp/x.rb -c',
  ])
})
