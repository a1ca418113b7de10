/**
 * Turns the server's JSON Schema and profiles into what a form shows, and what the form holds into a request. Pure.
 */
import { IClusterRequest, IJSONSchema, IProfile, IProfiles } from '../tokens';

/** Fields that are shown first, in this order; the others follow. */
const ORDER = [
  'name',
  'n_workers',
  'threads_per_worker',
  'memory_limit',
  'minimum',
  'maximum',
  'idle_timeout',
  'kernel_name'
];

const LIMITS = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'examples'
];

/**
 * Return the schema as forms draw it well: references resolved, "or null" left out (an empty field means that), limits
 * left to the server, kernels to choose from, and without `profile`, which is chosen above the form.
 */
export function formSchema({ schema, kernels }: IProfiles): IJSONSchema {
  const definitions = schema.$defs ?? {};
  const root = resolved(schema, definitions);
  const names = Object.keys(root.properties ?? {});
  const ordered = [
    ...ORDER.filter(name => names.includes(name)),
    ...names.filter(name => !ORDER.includes(name) && name !== 'profile')
  ];
  const properties = Object.fromEntries(
    ordered.map(name => [
      name,
      titled(name, plain(root.properties?.[name] ?? {}, definitions))
    ])
  );
  if ('kernel_name' in properties && kernels.length > 0) {
    properties.kernel_name = {
      ...properties.kernel_name,
      oneOf: kernels.map(({ name, title }) => ({ const: name, title }))
    };
    delete properties.kernel_name.enum;
  }
  return { type: 'object', properties };
}

/** Return the profiles of the server and those of the settings; of two with one name the latter counts. */
export function mergedProfiles(
  server: readonly IProfile[],
  settings: unknown
): IProfile[] {
  const own = (Array.isArray(settings) ? settings : []).flatMap(
    (each: Partial<IProfile> | null) =>
      typeof each?.name === 'string'
        ? [
            {
              name: each.name,
              title: each.title ?? each.name,
              description: each.description ?? '',
              values: each.values ?? {}
            }
          ]
        : []
  );
  const names = new Set(own.map(({ name }) => name));
  return [...server.filter(({ name }) => !names.has(name)), ...own];
}

/** Return what a form asks for: empty fields are left out. */
export function requestOf(values: object): IClusterRequest {
  const filled = Object.entries(values)
    .map(([name, value]) => [
      name,
      typeof value === 'string' ? value.trim() : (value as unknown)
    ])
    .filter(
      ([, value]) => value !== '' && value !== null && value !== undefined
    );
  return Object.fromEntries(filled) as IClusterRequest;
}

/**
 * Return a message of the server's or the engine's as it stands at a field: they name fields as programs do, `n_workers=9`.
 *
 * @param field - Where it stands, '' if above the form.
 */
export function inFormWords(
  message: string,
  field: string,
  schema: IJSONSchema
): string {
  const own = `${field}=`;
  const rest =
    field !== '' && message.startsWith(own)
      ? message.slice(own.length).replace(/^true /i, '') // a tick has no value to repeat
      : message;
  const titles = Object.entries(schema.properties ?? {}).map(
    ([name, { title }]) => [name, title ?? name]
  );
  return withTitles(rest, Object.fromEntries(titles));
}

/** Return a message of the server's or the engine's with the titles of fields, which it names as programs do. */
export function withTitles(
  message: string,
  titles: Record<string, string>
): string {
  return Object.entries(titles).reduce(
    (text, [name, title]) =>
      text.replace(new RegExp(`\\b${name}=`, 'g'), () => `“${title}” `),
    message.replace(PYTHON_TEXT, '“$1”')
  );
}

/** Text as Python writes it, not the apostrophe of "can't". */
const PYTHON_TEXT = /(?<![\w’])'([^'\n]*)'(?!\w)/g;

function plain(
  schema: IJSONSchema,
  definitions: Record<string, IJSONSchema>
): IJSONSchema {
  const whole = resolved(schema, definitions);
  const kinds = whole.anyOf?.filter(({ type }) => type !== 'null');
  const rest = { ...whole };
  delete rest.anyOf;
  // The browser would only disable the dialog's button; the server says what is wrong.
  for (const limit of LIMITS) {
    delete rest[limit];
  }
  if (rest.default === null) {
    delete rest.default;
  }
  if (Array.isArray(rest.type)) {
    rest.type = rest.type.find(type => type !== 'null');
  }
  return kinds?.length === 1
    ? { ...plain(kinds[0], definitions), ...rest }
    : rest;
}

function resolved(
  schema: IJSONSchema,
  definitions: Record<string, IJSONSchema>
): IJSONSchema {
  const { $ref, ...rest } = schema;
  const name = $ref?.split('/').at(-1);
  return name === undefined
    ? rest
    : { ...resolved(definitions[name] ?? {}, definitions), ...rest };
}

function titled(name: string, schema: IJSONSchema): IJSONSchema {
  return { title: titleOf(name), ...schema };
}

/** Return what a field is called that has no title. */
export function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words[0].toUpperCase() + words.slice(1);
}
