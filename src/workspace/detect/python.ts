import { type Ecosystem, firstOfEach, usualCommand } from './ecosystem.ts'
import { type Folder, type Table, tableIn, textsIn } from './project-files.ts'

/** How a manager is recognised, the most certain first; how it installs dependencies, and how it runs a program. */
const MANAGERS = [
  { name: 'uv', files: ['uv.lock'], setup: 'uv sync --locked', run: 'uv run ' },
  { name: 'poetry', files: ['poetry.lock'], setup: 'poetry install', run: 'poetry run ' },
  { name: 'pdm', files: ['pdm.lock'], setup: 'pdm sync', run: 'pdm run ' },
  { name: 'pipenv', files: ['Pipfile.lock'], setup: 'pipenv sync --dev', run: 'pipenv run ' },
  { name: 'pipenv', files: ['Pipfile'], setup: 'pipenv install --dev', run: 'pipenv run ' },
  { name: 'uv', tool: 'uv', setup: 'uv sync', run: 'uv run ' },
  { name: 'poetry', tool: 'poetry', setup: 'poetry install', run: 'poetry run ' },
  { name: 'pdm', tool: 'pdm', setup: 'pdm install', run: 'pdm run ' },
  { name: 'hatch', tool: 'hatch', setup: 'hatch env create', run: 'hatch run ' },
  { name: 'pip', files: ['requirements-dev.txt'], setup: 'pip install -r requirements-dev.txt', run: '' },
  { name: 'pip', files: ['requirements.txt'], setup: 'pip install -r requirements.txt', run: '' },
  { name: 'conda', files: ['environment.yml'], setup: 'conda env update --file environment.yml', run: '' },
  { name: 'pip', files: ['pyproject.toml', 'setup.py', 'setup.cfg'], setup: 'pip install -e .', run: '' },
] as const satisfies { name: string; files?: string[]; tool?: string; setup: string; run: string }[]

/** Python: uv, poetry, pdm, pipenv, hatch, pip, conda. */
export const python: Ecosystem = async folder => {
  const manifest = await folder.toml('pyproject.toml')
  const found = findManager(folder, manifest)
  if (!found) return undefined
  const { manager, from } = found
  const findMention = await openMentions(folder, manifest)
  // Without a manager's environment there may be no `python`: Debian and others have only `python3`.
  const call = (words: string) =>
    manager.run === '' ? words.replace(/^python /, 'python3 ') : `${manager.run}${words}`
  return {
    ecosystem: 'python',
    manager: manager.name,
    manager_from: from,
    commands: firstOfEach([
      usualCommand('setup', manager.setup, from),
      ...typeCheckCommands(folder, findMention, call),
      ...lintCommands(folder, findMention, call),
      ...testCommands(folder, findMention, call),
    ]),
    members: textsIn(tableIn(manifest, 'tool', 'uv', 'workspace')['members']),
  }
}

type FindMention = (tool: string) => string | undefined
type Call = (words: string) => string

function testCommands(folder: Folder, findMention: FindMention, call: Call) {
  const pytest = folder.first(['pytest.ini', 'conftest.py']) ?? findMention('pytest')
  const folders = ['tests', 'test'].find(name => folder.hasFolder(name))
  return [
    pytest !== undefined && usualCommand('test', call('pytest'), pytest),
    folder.has('noxfile.py') && usualCommand('test', call('nox'), 'noxfile.py'),
    folder.has('tox.ini') && usualCommand('test', call('tox'), 'tox.ini'),
    folder.has('manage.py') && usualCommand('test', call('python manage.py test'), 'manage.py'),
    folders !== undefined && usualCommand('test', call(`python -m unittest discover ${folders}`), `${folders}/`),
  ]
}

function typeCheckCommands(folder: Folder, findMention: FindMention, call: Call) {
  const mypy = folder.first(['mypy.ini', '.mypy.ini']) ?? findMention('mypy')
  const pyright = folder.first(['pyrightconfig.json']) ?? findMention('pyright')
  return [
    mypy !== undefined && usualCommand('typecheck', call('mypy .'), mypy),
    pyright !== undefined && usualCommand('typecheck', call('pyright'), pyright),
  ]
}

function lintCommands(folder: Folder, findMention: FindMention, call: Call) {
  const ruff = folder.first(['ruff.toml', '.ruff.toml']) ?? findMention('ruff')
  const flake8 = folder.first(['.flake8']) ?? findMention('flake8')
  const [pylint, black] = [folder.first(['.pylintrc', 'pylintrc']) ?? findMention('pylint'), findMention('black')]
  return [
    ruff !== undefined && usualCommand('lint', call('ruff check .'), ruff),
    flake8 !== undefined && usualCommand('lint', call('flake8'), flake8),
    pylint !== undefined && usualCommand('lint', call('pylint .'), pylint),
    black !== undefined && usualCommand('format', call('black --check .'), black),
    ruff !== undefined && usualCommand('format', call('ruff format --check .'), ruff),
  ]
}

function findManager(folder: Folder, manifest: Table | undefined) {
  const tools = tableIn(manifest, 'tool')
  for (const manager of MANAGERS) {
    const file = 'files' in manager ? folder.first(manager.files) : undefined
    if (file !== undefined) return { manager, from: file }
    if ('tool' in manager && Object.hasOwn(tools, manager.tool)) {
      return { manager, from: `pyproject.toml: tool.${manager.tool}` }
    }
  }
  return undefined
}

/** Finds where a tool is configured or required: in its own section, or among the dependencies. */
async function openMentions(folder: Folder, manifest: Table | undefined): Promise<FindMention> {
  const sections = tableIn(manifest, 'tool')
  const project = JSON.stringify([
    tableIn(manifest, 'project'),
    tableIn(manifest, 'dependency-groups'),
    tableIn(manifest, 'tool', 'poetry'),
    tableIn(manifest, 'tool', 'uv'),
    tableIn(manifest, 'tool', 'pdm'),
  ])
  const names = ['requirements-dev.txt', 'requirements.txt', 'requirements-test.txt', 'Pipfile', 'setup.cfg']
  const texts = await Promise.all(names.map(async name => [name, (await folder.text(name)) ?? ''] as const))
  return tool => {
    const word = new RegExp(`(^|["'\\s[])${tool}(?![\\w-])`, 'm')
    if (Object.hasOwn(sections, tool)) return `pyproject.toml: tool.${tool}`
    if (word.test(project)) return 'pyproject.toml'
    return texts.find(([, text]) => word.test(text))?.[0]
  }
}
