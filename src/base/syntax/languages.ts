import type { DefinitionKind } from './parsed-file.ts'

/** How one language writes what a `ParsedFile` contains. Kinds are those of its tree-sitter grammar. */
export interface CodeLanguage {
  name: string
  /** Endings of file names, without the dot, or whole names. */
  endings: readonly string[]
  /** The npm package with its grammar; the others are part of `@ast-grep/napi`. */
  package?: string
  definitions: Readonly<Record<string, DefinitionKind>>
  /** Where the name of a definition is, if it is not in the field `name`. */
  nameFields?: Readonly<Record<string, string>>
  /** A definition of this kind counts only if one of its fields has one of these kinds: a variable that holds a function. */
  only?: Readonly<Record<string, readonly string[]>>
  /** Nodes that belong to the definition inside them: `export`, decorators. */
  wraps?: readonly string[]
  /** Nodes whose children are looked at as if they stood in their place: bodies of classes, `#ifdef`. */
  blocks?: readonly string[]
  imports?: readonly string[]
  /** Reads one import: `from`, and `names` if it lists them. */
  importText?: RegExp
  /** Imports that are ordinary calls: found anywhere in the text. */
  importCall?: RegExp
  /** Reads what a class inherits from its signature: `bases`, a list. */
  bases?: RegExp
  /** Tells from its signature whether other files can use a definition; without it, they can. */
  exported?: RegExp
  /** The same, from its name. */
  exportedName?: RegExp
  /** How comments and literals look, in which no calls are looked for. */
  literals: 'script' | 'c' | 'hash'
  /** Kinds of calls, for languages that call without parentheses; the others are found by the parenthesis. */
  calls?: Readonly<Record<string, string>>
}

const FUNCTIONS = ['arrow_function', 'function_expression', 'generator_function', 'class'] as const

const JAVASCRIPT = {
  definitions: {
    function_declaration: 'function',
    generator_function_declaration: 'function',
    function_signature: 'function',
    class_declaration: 'class',
    abstract_class_declaration: 'class',
    method_definition: 'method',
    abstract_method_signature: 'method',
    public_field_definition: 'method',
    field_definition: 'method',
    interface_declaration: 'interface',
    type_alias_declaration: 'type',
    enum_declaration: 'type',
    internal_module: 'module',
    variable_declarator: 'variable',
    assignment_expression: 'function',
  },
  nameFields: { assignment_expression: 'left' },
  only: { assignment_expression: FUNCTIONS, public_field_definition: FUNCTIONS, field_definition: FUNCTIONS },
  wraps: [
    'export_statement',
    'lexical_declaration',
    'variable_declaration',
    'expression_statement',
    'ambient_declaration',
  ],
  blocks: ['class_body', 'statement_block'],
  imports: ['import_statement'],
  importText: /^import\s+(?:type\s+)?(?<names>[^'"]*?)(?:\s*from\s*)?['"](?<from>[^'"]+)['"]/,
  importCall:
    /\b(?:require|import)\(\s*['"](?<from>[^'"\n]+)['"]\s*\)|^export\s[^;'"()=]*\sfrom\s+['"](?<again>[^'"\n]+)['"]/gm,
  bases: /\b(?:extends|implements)\s+(?<bases>.+)$/,
  exported: /^(?:export\b|(?:module\.)?exports\b)/,
  literals: 'script',
} satisfies Partial<CodeLanguage>

/** Every language with a grammar. A file in another one is cut by lines. */
export const LANGUAGES: readonly CodeLanguage[] = [
  { name: 'TypeScript', endings: ['ts', 'mts', 'cts'], ...JAVASCRIPT },
  { name: 'Tsx', endings: ['tsx'], ...JAVASCRIPT },
  { name: 'JavaScript', endings: ['js', 'mjs', 'cjs', 'jsx'], ...JAVASCRIPT },
  {
    name: 'python',
    endings: ['py', 'pyi'],
    package: '@ast-grep/lang-python',
    definitions: { function_definition: 'function', class_definition: 'class', assignment: 'variable' },
    nameFields: { assignment: 'left' },
    wraps: ['decorated_definition', 'expression_statement'],
    blocks: ['block', 'if_statement', 'else_clause', 'try_statement'],
    imports: ['import_statement', 'import_from_statement', 'future_import_statement'],
    importText: /^(?:from\s+(?<from>[\w.]+)\s+)?import\s+(?<names>[\s\S]+)/,
    bases: /\bclass\s+\w+\s*\((?<bases>.*)\)/,
    exportedName: /^(?!_)/,
    literals: 'hash',
  },
  {
    name: 'go',
    endings: ['go'],
    package: '@ast-grep/lang-go',
    definitions: {
      function_declaration: 'function',
      method_declaration: 'method',
      type_spec: 'type',
      type_alias: 'type',
      const_spec: 'variable',
      var_spec: 'variable',
    },
    wraps: ['type_declaration'],
    blocks: ['const_declaration', 'var_declaration', 'var_spec_list'],
    imports: ['import_declaration'],
    importText: /"(?<from>[^"]+)"/g,
    exportedName: /^\p{Lu}/u,
    literals: 'c',
  },
  {
    name: 'rust',
    endings: ['rs'],
    package: '@ast-grep/lang-rust',
    definitions: {
      function_item: 'function',
      function_signature_item: 'function',
      struct_item: 'class',
      enum_item: 'class',
      union_item: 'class',
      trait_item: 'interface',
      impl_item: 'class',
      mod_item: 'module',
      type_item: 'type',
      const_item: 'variable',
      static_item: 'variable',
      macro_definition: 'function',
    },
    nameFields: { impl_item: 'type' },
    blocks: ['declaration_list'],
    imports: ['use_declaration'],
    importText: /^(?:pub(?:\([^)]*\))?\s+)?use\s+(?<from>[\w:]+?)(?:::(?<names>\{[\s\S]*\}|\*|\w+))?(?:\s+as\s+\w+)?;/,
    bases: /^impl(?:<[^>]*>)?\s+(?<bases>[\w:]+)(?:<.*>)?\s+for\s/,
    exported: /^pub\b/,
    literals: 'c',
  },
  {
    name: 'java',
    endings: ['java'],
    package: '@ast-grep/lang-java',
    definitions: {
      class_declaration: 'class',
      record_declaration: 'class',
      interface_declaration: 'interface',
      annotation_type_declaration: 'interface',
      enum_declaration: 'type',
      method_declaration: 'method',
      constructor_declaration: 'method',
    },
    blocks: ['class_body', 'interface_body', 'enum_body', 'enum_body_declarations'],
    imports: ['import_declaration'],
    importText: /^import\s+(?:static\s+)?(?<from>[\w.]+?)(?:\.(?<names>\w+|\*))?\s*;/,
    bases: /\b(?:extends|implements)\s+(?<bases>.+)$/,
    exported: /^(?!.*\bprivate\b)/,
    literals: 'c',
  },
  {
    name: 'c',
    endings: ['c', 'h'],
    package: '@ast-grep/lang-c',
    definitions: {
      function_definition: 'function',
      struct_specifier: 'class',
      union_specifier: 'class',
      enum_specifier: 'type',
      type_definition: 'type',
      preproc_def: 'variable',
      preproc_function_def: 'function',
    },
    nameFields: { function_definition: 'declarator', type_definition: 'declarator' },
    blocks: ['preproc_ifdef', 'preproc_if', 'preproc_else', 'linkage_specification', 'declaration_list'],
    imports: ['preproc_include'],
    importText: /["<](?<from>[^">]+)[">]/,
    exported: /^(?!static\b)/,
    literals: 'c',
  },
  {
    name: 'cpp',
    endings: ['cc', 'cpp', 'cxx', 'hpp', 'hh', 'hxx', 'cu', 'cuh'],
    package: '@ast-grep/lang-cpp',
    definitions: {
      function_definition: 'function',
      class_specifier: 'class',
      struct_specifier: 'class',
      union_specifier: 'class',
      enum_specifier: 'type',
      type_definition: 'type',
      alias_declaration: 'type',
      namespace_definition: 'module',
      concept_definition: 'type',
      preproc_def: 'variable',
      preproc_function_def: 'function',
    },
    nameFields: { function_definition: 'declarator', type_definition: 'declarator' },
    wraps: ['template_declaration'],
    blocks: [
      'declaration_list',
      'field_declaration_list',
      'preproc_ifdef',
      'preproc_if',
      'preproc_else',
      'linkage_specification',
    ],
    imports: ['preproc_include'],
    importText: /["<](?<from>[^">]+)[">]/,
    bases: /^(?:template\s*<.*?>\s*)?(?:class|struct)\s[^:]*[^:]:(?!:)\s*(?<bases>.+)$/,
    exported: /^(?!static\b)/,
    literals: 'c',
  },
  {
    name: 'csharp',
    endings: ['cs'],
    package: '@ast-grep/lang-csharp',
    definitions: {
      namespace_declaration: 'module',
      class_declaration: 'class',
      struct_declaration: 'class',
      record_declaration: 'class',
      interface_declaration: 'interface',
      enum_declaration: 'type',
      delegate_declaration: 'type',
      method_declaration: 'method',
      constructor_declaration: 'method',
      property_declaration: 'method',
      local_function_statement: 'function',
    },
    blocks: ['declaration_list', 'file_scoped_namespace_declaration', 'global_statement'],
    imports: ['using_directive'],
    importText: /using\s+(?:static\s+)?(?:\w+\s*=\s*)?(?<from>[\w.]+)/,
    bases: /\b(?:class|struct|record|interface)\s[^:]+:\s*(?<bases>.+?)(?:\swhere\s.*)?$/,
    exported: /\b(?:public|internal|protected)\b|^namespace\b/,
    literals: 'c',
  },
  {
    name: 'ruby',
    endings: ['rb', 'rake', 'gemspec', 'Rakefile', 'Gemfile'],
    package: '@ast-grep/lang-ruby',
    definitions: {
      method: 'method',
      singleton_method: 'method',
      class: 'class',
      module: 'module',
      assignment: 'variable',
    },
    nameFields: { assignment: 'left' },
    blocks: ['body_statement', 'begin_block'],
    importCall: /^\s*require(?:_relative)?\s*\(?\s*['"](?<from>[^'"\n]+)['"]/gm,
    bases: /^class\s+[\w:]+\s*<\s*(?<bases>[\w:]+)/,
    literals: 'hash',
    calls: { call: 'method' },
  },
  {
    name: 'php',
    endings: ['php', 'phtml'],
    package: '@ast-grep/lang-php',
    definitions: {
      function_definition: 'function',
      class_declaration: 'class',
      interface_declaration: 'interface',
      trait_declaration: 'class',
      enum_declaration: 'type',
      method_declaration: 'method',
      namespace_definition: 'module',
    },
    blocks: ['declaration_list', 'compound_statement', 'enum_declaration_list'],
    imports: ['namespace_use_declaration'],
    importText:
      /^use\s+(?:function\s+|const\s+)?(?<from>[\w\\]+?)(?:\\(?<names>\{[\s\S]*\}|\w+))?(?:\s+as\s+\w+)?\s*[;,]/,
    importCall: /\b(?:require|include)(?:_once)?\s*\(?[^;'"\n]{0,80}['"](?<from>[^'"\n]+)['"]/g,
    bases: /\b(?:extends|implements)\s+(?<bases>.+)$/,
    exported: /^(?!.*\bprivate\b)/,
    literals: 'script',
  },
  {
    name: 'kotlin',
    endings: ['kt', 'kts'],
    package: '@ast-grep/lang-kotlin',
    definitions: {
      class_declaration: 'class',
      object_declaration: 'class',
      companion_object: 'class',
      function_declaration: 'function',
      property_declaration: 'variable',
      type_alias: 'type',
    },
    blocks: ['class_body', 'enum_class_body', 'import_list'],
    imports: ['import_header'],
    importText: /^import\s+(?<from>[\w.]+?)(?:\.(?<names>\w+|\*))?(?:\s+as\s+\w+)?\s*$/,
    bases: /\b(?:class|object|interface)\s[^:(]+(?:\(.*\))?\s*:\s*(?<bases>.+)$/,
    exported: /^(?!.*\bprivate\b)/,
    literals: 'c',
  },
  {
    name: 'swift',
    endings: ['swift'],
    package: '@ast-grep/lang-swift',
    definitions: {
      class_declaration: 'class',
      protocol_declaration: 'interface',
      function_declaration: 'function',
      protocol_function_declaration: 'method',
      init_declaration: 'method',
      typealias_declaration: 'type',
      property_declaration: 'variable',
    },
    blocks: ['class_body', 'enum_class_body', 'protocol_body'],
    imports: ['import_declaration'],
    importText: /import\s+(?:\w+\s+)?(?<from>[\w.]+)\s*$/,
    bases: /\b(?:class|struct|enum|protocol|extension|actor)\s[^:]+:\s*(?<bases>.+?)(?:\swhere\s.*)?$/,
    exported: /^(?!.*\b(?:private|fileprivate)\b)/,
    literals: 'c',
  },
  {
    name: 'bash',
    endings: ['sh', 'bash', 'bats', 'zsh'],
    package: '@ast-grep/lang-bash',
    definitions: { function_definition: 'function' },
    importCall: /^\s*(?:source|\.)\s+['"]?(?<from>[^\s'";]+)/gm,
    literals: 'hash',
    calls: { command: 'name' },
  },
]

/** The language of a file, by the ending of its name. */
export function languageOf(path: string): CodeLanguage | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return BY_ENDING.get(name.slice(name.lastIndexOf('.') + 1))
}

const BY_ENDING = new Map(LANGUAGES.flatMap(language => language.endings.map(ending => [ending, language] as const)))
