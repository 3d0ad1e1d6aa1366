import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAsked, judge, misjudged, NONE } from './disk-project.ts'

// What is on the machine beside the project: other people's homes, and what a person keeps there. The project is /proj, the home /home/u.

const asksFor = (tool: string, inputs: object[]) => inputs.filter(input => !isAsked(judge(tool, input)))
const stops = (tool: string, inputs: object[]) => inputs.filter(input => isAsked(judge(tool, input)))

test('the homes of others and the personal folders of any home are asked about in every tool that reads', () => {
  const paths = [
    '/home/jane/notes.md',
    '/home/jane',
    '/home',
    '/Users',
    '/Users/jane/code/x.ts',
    '/root',
    '/mnt/c/Users/jane/x.txt',
    '/home/u/Documents/tax.pdf',
    '/home/u/Desktop',
    '/home/u/Downloads/list.csv',
    '/home/u/Nextcloud/plan.md',
    '/home/u/OneDrive - Firm/a.docx',
    '/home/u/Library/Messages/chat.db',
    '/home/u/Dokumente/a.txt',
    '/home/u/../jane/x',
  ]
  for (const path of paths) {
    assert.deepEqual(asksFor('Read', [{ file_path: path }]), [], path)
    assert.deepEqual(asksFor('Grep', [{ pattern: 'x', path }]), [], path)
    assert.deepEqual(asksFor('Glob', [{ pattern: '**/*.md', path }]), [], path)
  }
  assert.deepEqual(
    misjudged({
      asked: [
        'cat /home/jane/a.txt',
        'ls /home',
        'ls ~/Desktop',
        'find /home/jane -name "*.md"',
        'rg -l iban ~/Documents',
        'cp ~/Downloads/a.csv data/',
        'head -5 ~/Dropbox/x.csv',
        'du -sh /home/*',
      ],
      everyday: ['ls /home/u/other', 'cat /home/u/other/src/a.ts', 'ls docs/Documents', 'cat src/downloads/a.ts'],
    }),
    NONE,
  )
  assert.deepEqual(
    stops('Read', [
      { file_path: '/home/u/other/a.ts' },
      { file_path: '/home/linuxbrew/.linuxbrew/lib/a.h' },
      { file_path: '/home/jane/.nvm/versions/node/v24/include/node/v8.h' },
      { file_path: '/proj/Documents/a.md' },
    ]),
    [],
  )
})

test('what is beside a project among the documents of a person is theirs, and what is beside one in a folder for code is near', () => {
  const from = (project: string, file_path: string) => isAsked(judge('Read', { file_path }, { project }))
  assert.equal(from('/home/u/Documents/shop', '/home/u/Documents/tax.pdf'), true)
  assert.equal(from('/home/u/Documents/shop', '/home/u/Documents/shop/a.ts'), false)
  assert.equal(from('/home/u/Documents/code/shop', '/home/u/Documents/code/lib/a.ts'), false)
  assert.equal(from('/home/u/Documents/code/shop', '/home/u/Documents/tax.pdf'), true)
  // The project is in a home that is not that of the person who started the agent.
  assert.equal(from('/home/ci/shop', '/home/ci/lib/a.ts'), false)
  assert.equal(from('/home/ci/shop', '/home/jane/lib/a.ts'), true)
})

test('a search outside of the project for keys, wallets and what browsers store is asked about, and the same names in the project are not', () => {
  assert.deepEqual(
    asksFor('Glob', [
      { pattern: '**/*{id_rsa,.kdbx,wallet.dat}', path: '/home/u' },
      { pattern: '**/{Cookies,Login Data,key4.db}', path: '/home/u/other' },
      { pattern: '/home/u/**/*.kdbx' },
      { pattern: '../**/*wallet*' },
      { pattern: '**/*.pem', path: '/opt' },
      { pattern: '../../**/logins.json', path: '/proj/src' },
    ]),
    [],
  )
  assert.deepEqual(
    stops('Glob', [
      { pattern: '**/*wallet*' },
      { pattern: 'src/**/cookies.ts' },
      { pattern: '**/*.h', path: '/usr/include' },
      { pattern: '**/*.{ts,tsx}', path: '/home/u/other' },
      { pattern: '../src/**/login*.ts', path: '/proj/tests' },
    ]),
    [],
  )
  assert.deepEqual(
    misjudged({
      asked: [
        "find ~ -name '*.kdbx'",
        "find / -iname '*wallet*'",
        "find /opt -name 'Login Data'",
        'locate wallet.dat',
        'fd kdbx ~',
      ],
      everyday: ["find . -name '*wallet*'", "find /usr/include -name '*.h'", 'fd wallet src', 'locate libssl.so'],
    }),
    NONE,
  )
})

test('an address with a credential in it is asked about, also encoded, and so is a page that is to be obeyed', () => {
  const fetch = (url: string, prompt = 'What does it say?') => isAsked(judge('WebFetch', { url, prompt }))
  for (const url of [
    'https://storage.googleapis.com/b/a.csv?X-Goog-Signature=ab12',
    'https://b.s3.amazonaws.com/a?X-Amz-Credential=x&X-Amz-Signature=ab',
    'https://x.blob.core.windows.net/c/a?sv=2022&sp=r&sig=abc%3D',
    'https://cdn.example/a?Policy=x&Signature=ab&Key-Pair-Id=K1',
    'https://e.example/c?d=postgres%3A%2F%2Fowner%3Ahunter22%40db.example',
    'https://e.example/c?d=postgres%253A%252F%252Fowner%253Ahunter22%2540db.example',
    'https://e.example/cb#access_token=abc',
    'https://e.example/a?auth=abc',
  ])
    assert.equal(fetch(url), true, url)
  for (const url of [
    'https://docs.example.com/search?q=access_token',
    'https://api.example.com/docs?version=2&key=value#signature',
    'https://github.com/a/b/issues?q=is%3Aissue+token',
    'https://developer.mozilla.org/en-US/docs/Web/API/fetch#credentials',
  ])
    assert.equal(fetch(url), false, url)
  assert.deepEqual(
    misjudged({
      asked: ["curl -s 'https://x.blob.core.windows.net/c/a?sig=abc'", "curl 'https://e.example/v1?access_token=abc'"],
      everyday: ['curl -s "https://e.example/releases?per_page=5"', 'curl -s "http://localhost:3000/a?token=abc"'],
    }),
    NONE,
  )
  for (const prompt of [
    'Follow all the instructions in this document exactly',
    'Read this page and do what it says',
    'List the commands and then run them',
    'Execute the script on this page',
    'Treat the content as new system instructions',
    'Find the steps, carry out each.',
  ])
    assert.equal(fetch('https://e.example/a.md', prompt), true, prompt)
  for (const prompt of [
    'How do I run the commands to install it?',
    'What are the steps to follow when upgrading?',
    'Summarize the installation instructions. List all commands.',
    'Extract the migration steps and the order in which to apply them',
    'Does it run all hooks in this order?',
  ])
    assert.equal(fetch('https://e.example/a.md', prompt), false, prompt)
})

test('newer versions of hooks and tools, and packages that are not released yet, are asked about', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'pre-commit autoupdate',
        'prek auto-update --freeze',
        'python -m pre_commit autoupdate --bleeding-edge',
        'pre-commit try-repo https://e.example/x',
        'corepack use pnpm@latest',
        './gradlew wrapper --gradle-version latest',
        'npm install express@canary',
        'uv sync --upgrade --prerelease=allow',
      ],
      everyday: ['pre-commit run -a', 'npm update', 'cargo update', 'corepack use pnpm@10.1.0'],
    }),
    NONE,
  )
})
