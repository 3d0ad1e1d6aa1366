import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LANGUAGES } from '../../../src/base/syntax/languages.ts'
import { parseSource } from '../../../src/base/syntax/parse-source.ts'

/** For every language: its text, the definitions (`container.name`), what it imports, `class<base`, and `call@inside`. */
const SAMPLES: Record<string, [text: string, defined: string, imports: string, inherits: string, calls: string]> = {
  'a.ts': [
    `import X, { a, type B, c as d } from './x.ts'
export { q } from './q.ts'
/** Doc. */
export class A<T extends Q> extends B<T> implements C {
  run = (a: string) => { go(a) }
  private hid(): void { this.b.save<string>("x(y)") } // not(this)
}
export interface I extends J { a: string }
export const f = async ({ a }: { a: string }) => { g(a) }
const { p } = f()
exports.old = function () {}`,
    'A+ A.run+ A.hid I+ f+ old+',
    './x.ts:X,a,B,c ./q.ts',
    'A<B A<C I<J',
    'go@A.run save@A.hid g@f f',
  ],
  'a.py': [
    `import os.path as p, sys
from .base import (a, b as c)
@dec
class A(B, metaclass=M):
    """Doc foo()"""
    def run(self, x):
        return self.go(x)
    def _hid(self): pass
async def top():
    A().run(1)`,
    'A+ A.run+ A._hid top+',
    'os.path sys .base:a,b',
    'A<B',
    'A@A go@A.run A@top run@top',
  ],
  'a.go': [
    `package a
import (
 "fmt"
 x "os/exec"
)
type T struct { a int }
func (t *T) Run(a int) error { fmt.Println(a); return nil }
func helper() {}`,
    'T+ T.Run+ helper',
    'fmt os/exec',
    '',
    'Println@T.Run',
  ],
  'a.rs': [
    `use std::collections::{HashMap, HashSet};
pub struct S<'a> { x: &'a str }
impl<'a> Show for S<'a> {
  fn show(&self) -> String { self.x.go() }
}
pub(crate) fn run<T: Foo>(x: T) { helper::<T>(x) }`,
    'S+ S S.show run+',
    'std::collections:HashMap,HashSet',
    'S<Show',
    'go@S.show helper@run',
  ],
  'a.java': [
    `import java.util.List;
public class A<T> extends B<T> implements C, D {
  public A() {}
  private void run(List<String> a) { go(a); }
}`,
    'A+ A.A+ A.run',
    'java.util:List',
    'A<B A<C A<D',
    'go@A.run',
  ],
  'a.c': [
    `#include "a.h"
struct foo { int a; };
static int *run(int a) { return go(a); }
int main(void) { run(1); }`,
    'foo+ run main+',
    'a.h',
    '',
    'go@run run@main',
  ],
  'a.cpp': [
    `#include <a.h>
namespace n {
class A : public B, private C { void run() { go(); } };
template <class T> T twice(T a) { return a; }
}
int n::A::size() const { return 1; }`,
    'n+ n.A+ A.run+ n.twice+ A.size+',
    'a.h',
    'A<B A<C',
    'go@A.run',
  ],
  'a.cs': [
    `using System.Text;
namespace N {
 public class A : B, I {
  private void Run(int a) { Go(a); }
 }
}`,
    'N+ N.A+ A.Run',
    'System.Text',
    'A<B A<I',
    'Go@A.Run',
  ],
  'a.rb': [
    `require 'json'
module M
 class A < B
  def run(x)
   go x
  end
 end
end`,
    'M+ M.A+ A.run+',
    'json',
    'A<B',
    'go@A.run',
  ],
  'a.php': [
    `<?php
use X\\Y\\Z;
class A extends B implements C {
  private function run($x) { $this->go($x); }
}`,
    'A+ A.run',
    'X\\Y:Z',
    'A<B A<C',
    'go@A.run',
  ],
  'a.kt': [
    `import a.b.C
class A(val x: Int) : B(x), I {
  fun run(a: Int): Int { return go(a) }
}`,
    'A+ A.run+',
    'a.b:C',
    'A<B A<I',
    'B@A go@A.run',
  ],
  'a.swift': [
    `import Foundation
public class A: B, P {
  func run(a: Int) -> Int { return go(a) }
}`,
    'A+ A.run+',
    'Foundation',
    'A<B A<P',
    'go@A.run',
  ],
  'a.sh': ['. ./x.sh\nrun() {\n  go "$1"\n}', 'run+', './x.sh', '', '. go@run'],
}

for (const [path, [text, defined, imports, inherits, calls]] of Object.entries(SAMPLES)) {
  test(`definitions, imports, bases and calls of ${path} are read from its tree`, () => {
    const parsed = parseSource(path, text)
    const definitions = parsed.definitions.filter(({ kind }) => kind !== 'variable')
    assert.equal(
      definitions.map(d => `${d.container ? `${d.container}.` : ''}${d.name}${d.exported ? '+' : ''}`).join(' '),
      defined,
    )
    assert.equal(
      parsed.imports.map(({ from, names }) => [from, names.join()].filter(Boolean).join(':')).join(' '),
      imports,
    )
    assert.equal(parsed.inherits.map(({ name, base }) => `${name}<${base}`).join(' '), inherits)
    assert.equal(parsed.calls.map(({ name, inside }) => (inside ? `${name}@${inside}` : name)).join(' '), calls)
  })
}

test('every language of the table but the variants of TypeScript has a sample', () => {
  const endings = Object.keys(SAMPLES).map(path => path.slice(2))
  const without = LANGUAGES.filter(language => !language.endings.some(ending => endings.includes(ending)))
  assert.deepEqual(
    without.map(({ name }) => name),
    ['Tsx', 'JavaScript'],
  )
})

const covers = (path: string, text: string) => {
  const { chunks } = parseSource(path, text)
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  let next = 1
  for (const { startLine, endLine } of chunks) {
    assert.equal(startLine, next)
    const chars = text
      .split('\n')
      .slice(startLine - 1, endLine)
      .join('\n').length
    assert.ok(chars <= 1750 || startLine === endLine, `${chars} characters in ${startLine}-${endLine}`)
    next = endLine + 1
  }
  assert.equal(next, lines + 1)
  return chunks
}

test('chunks cover a file, join small definitions, and cut a long class at its methods and a long method by lines', () => {
  const small = 'function a() {}\n\n/** B. */\nfunction b() {}\n'
  assert.deepEqual(covers('s.js', small), [
    { startLine: 1, endLine: 4, header: 's.js\nfunction a()\nfunction b()', definition: 'a' },
  ])
  const method = (name: string, lines: number) =>
    `  ${name}() {\n${'    this.doSomething(with, these)\n'.repeat(lines)}  }\n`
  const long = `import x from 'y'\nclass Big extends Base {\n${method('one', 30)}${method('two', 120)}}\n`
  const chunks = covers('l.js', long)
  assert.deepEqual(
    chunks.map(({ definition }) => definition),
    [undefined, 'Big', 'two', 'two', 'two', 'Big'],
  )
  assert.equal(chunks[2]?.header, 'l.js\nclass Big extends Base\ntwo()')
})

test('prose and unknown languages are cut by lines, and prose is found by its headings', () => {
  const prose = `# One\n\n${'Some words of a paragraph.\n'.repeat(60)}\n## Two\n\n${'Other words.\n'.repeat(40)}`
  assert.deepEqual(
    covers('p.md', prose).map(({ header }) => header),
    ['p.md\n# One', 'p.md\n## Two'],
  )
  assert.equal(covers('x.unknown', 'a\nb\n').length, 1)
  assert.deepEqual(parseSource('empty.ts', '').chunks, [])
  assert.equal(covers('one-line.js', 'x'.repeat(5000)).length, 1)
})
