import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveToSandbox } from '../../src/policy/verdict/sandbox.ts'
import { isAsked, judge, misjudged, NONE } from './disk-project.ts'

// Edits over lists of files and what follows them in the same command.

test('a rename over listed code may be checked and tested, if both names are spelled out and the new one starts or removes nothing', () => {
  const rename = (script: string, then: string) => `grep -rl "foo" src tests | xargs sed -i '${script}' && ${then}`
  assert.deepEqual(
    misjudged({
      asked: [
        rename('s/foo/rmSync/g', 'npm test'),
        rename('s/\\bfoo\\b/eval/g', 'npm test'),
        rename('s/foo/child_process/', 'npm test'),
        rename('s/foo/true/', 'npm test'),
        rename('s/foo.*/x/', 'npm test'),
        rename('s/foo/a(b)/', 'npm test'),
        rename('s/(foo)/\\1x/', 'npm test'),
        rename('s/foo/bar/e', 'npm test'),
        rename('s/a/b/', 'npm test'),
        rename('s/foo/bar/; s/x/execSync/', 'npm test'),
        rename('s/foo/bar/', 'npm run deploy'),
        rename('s/foo/bar/', 'npm publish'),
        rename('s/foo/bar/', 'node src/app.ts'),
        'grep -rl "foo" . | xargs sed -i \'s/foo/bar/g\' && npm test',
        "git ls-files | xargs sed -i 's/foo/bar/g' && npm test",
      ],
      everyday: [
        rename('s/foo/bar/g', 'npm run typecheck 2>&1 | tail -5 && npm test 2>&1 | tail -8'),
        rename('s/\\bformatCents\\b/formatMoney/g', 'npm test'),
        rename('s#utils/money\\.js#utils/cents.js#g', 'npx tsc --noEmit && npx vitest run'),
        `git mv src/utils/money.ts src/utils/cents.ts && ${rename('s#utils/money#utils/cents#g', 'npm test')}`,
      ],
    }),
    NONE,
  )
})

test('code that a command spells out may be built and run as an example, in a loop too', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        `printf 'fn main() { std::process::Command::new("sh"); }' > examples/demo.rs && cargo run --example demo`,
        "printf 'fn main() {}' > build.rs && cargo build",
        'for c in a b; do printf "x" > .github/$c.yml; done && npx tsc',
        'for c in a b; do printf "require(\'child_process\').exec(\'%s\')" "$c" > src/$c.ts; done && npm test',
        'cat > src/a_test.go <<\'X\'\nvar b, _ = os.ReadFile("token")\nX\ngo test ./...',
        'cat > src/a_test.go <<\'X\'\nvar b, _ = os.ReadFile("../.env")\nX\ngo test ./...',
      ],
      everyday: [
        `mkdir -p examples && printf 'fn main() {\\n    println!("{}", zpl::one("1"));\\n}\\n' > examples/demo.rs && cargo run -q --example demo`,
        'mkdir -p src/carriers && for c in ups dhl; do printf "export const %s = { code: \'%s\' } as const;\\n" "$c" "$c" > src/carriers/$c.ts; done && ls src/carriers && npx tsc --noEmit',
        'cat > src/a_test.go <<\'X\'\nfunc TestA(t *testing.T) {\n\tt.Fatal("want a token after a second")\n}\nX\n(cd src && gofmt -l . && go test ./... 2>&1 | tail)',
      ],
    }),
    NONE,
  )
})

test('names that are made from names of the project are names of the project', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'for f in src/*.ts; do b=$(cat "$f"); ls tests/$b; done',
        'P=$(git diff --name-only | sed "s#^#/etc/#") && go test $P',
        'P=$(git diff --name-only | sed "s/x/y/e") && go test $P',
        'P=$(git diff --name-only | xargs -n1 cat) && go test $P',
        'npx vitest related --run $(cat list.txt | tr "\\n" " ")',
        'b=$(basename "$1" .ts); ls tests/$b.test.ts',
      ],
      everyday: [
        'for f in src/services/*.ts src/utils/*.ts; do b=$(basename "$f" .ts); ls tests/$b.test.ts >/dev/null 2>&1 || echo "no test: $f"; done',
        "PKGS=$(git diff --name-only --relative main -- '*.go' | xargs -r -n1 dirname | sort -u | sed 's#^#./#') && [ -n \"$PKGS\" ] && go test $PKGS || echo none",
        "npx vitest related --run $(git diff --name-only --diff-filter=AM main -- 'src/*.ts' | tr '\\n' ' ') 2>&1 | tail -20",
      ],
    }),
    NONE,
  )
})

test('a linter that only reads may look at the hooks of an agent, and packages of a project may be in a folder of their own', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'shfmt -w .claude/hooks/a.sh',
        'npx prettier --write .claude/settings.json',
        'BUNDLE_PATH=/tmp/x bundle exec rake test',
        'BUNDLE_PATH=../x bundle exec rake test',
        'BUNDLE_PATH=src bundle exec rake test',
        'BUNDLE_GEMFILE=/tmp/Gemfile bundle install',
        'curl -s -H $X http://localhost:3000/a',
        'M=$(date) && curl -s -H "A: $M" https://e.example/a',
        'M=$(cat .env) && curl -s -H "A: $M" http://localhost:3000/a',
        'M=$(cat x) && curl -s -H "$M" http://localhost:3000/a',
      ],
      everyday: [
        'shellcheck scripts/*.sh .claude/hooks/*.sh 2>&1 | head -30',
        'BUNDLE_PATH=vendor/bundle BUNDLE_FROZEN=true bundle install --quiet && BUNDLE_PATH=vendor/bundle bundle exec rake test',
      ],
    }),
    NONE,
  )
  const command =
    "MAC=$(printf 's_1' | openssl dgst -sha256 -hmac local-test-secret -hex | awk '{print $2}') && curl -s -H \"Authorization: Bearer s_1.$MAC\" http://localhost:3000/v1/shipments/s_1 | jq ."
  assert.equal(isAsked(leaveToSandbox(judge('Bash', { command }))), false)
})
