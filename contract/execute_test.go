package contract

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Code says itself where it sends something: the parameter that holds it is a sink, or
// every argument where none holds it. Tools that look at code, or name a run, are none.
func TestFallbackOnCode(t *testing.T) {
	for short, want := range map[string]string{
		"execute_command(command, timeout:integer)": "command",
		"shell_exec(cmd:[string])":                  "cmd",
		"terminal(cmd, cwd)":                        "cmd",
		"run_code(code, language:enum)":             "code",
		"python_repl(source)":                       "source",
		"run_python(python_code)":                   "python_code",
		"eval_page(expression)":                     "expression",
		"ssh_run(hostname, cmd)":                    "cmd hostname",
		"query(sql)":                                "sql",
		"kube_apply(manifest)":                      "manifest",
		"create_container(image, command)":          "command",
		"run_container(image)":                      "image",
		"send_keys(pane, keys)":                     "*",
		"write_to_terminal(text)":                   "text",
		"invoke_function(name, payload)":            "*",
		"run_macro(name)":                           "*",
		"call_tool(tool, arguments:any)":            "arguments",
		"package_install(name)":                     "*",
		"set_user_data(id, userData)":               "userData",

		"call_service(service, data:any)":   "-",
		"start_container(id)":               "-",
		"run_report(property, metrics)":     "-",
		"get_run(run_id)":                   "-",
		"list_executions(workflow)":         "-",
		"cancel_job(job)":                   "-",
		"command_help(command)":             "-",
		"format_code(code, language)":       "-",
		"validate_sql(sql)":                 "-",
		"explain_query(sql)":                "-",
		"redeem(code)":                      "-",
		"lookup(country_code, postal_code)": "-",
		"execute()":                         "-",
	} {
		got := strings.Fields(sinksOf(Fallback(tool(t, short))))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", short, got, want)
		}
	}
}

func TestFallbackOnDescriptions(t *testing.T) {
	for name, c := range map[string]struct{ tool, def, want string }{
		"documented function": {"dispatch", `{"description":"Hand it over.\n\nArgs:\n    whom (str): Email address of the one who gets it\n    note: Text",
			"inputSchema":{"properties":{"whom":{"type":"string"},"note":{"type":"string"}}}}`, "whom"},
		"documented with param": {"dispatch", `{"description":"Hand it over.\n:param whom: Email address\n",
			"inputSchema":{"properties":{"whom":{"type":"string"}}}}`, "whom"},
		"its own description counts": {"arrange", `{"description":"x\nwhom: Email address","inputSchema":{"properties":{"whom":{"type":"string","description":"A shelf"}}}}`, "-"},
		"home, documented": {"call_service_tool", `{"description":"Call any service of the home\n\nArgs:\n    domain: The domain of the service (e.g., 'light')",
			"inputSchema":{"properties":{"domain":{"type":"string"},"service":{"type":"string"}}}}`, "-"},
		"home, bare":          {"call", `{"inputSchema":{"properties":{"domain":{"type":"string"},"entity_id":{"type":"string"}}}}`, "-"},
		"network":             {"add_alias", `{"description":"Add an alias","inputSchema":{"properties":{"domain":{"type":"string"}}}}`, "domain"},
		"named by a schema":   {"check", `{"inputSchema":{"properties":{"domain":{"type":"string","description":"example.com"},"service":{"type":"string"}}}}`, "domain"},
		"runs, it says":       {"go", `{"description":"Executes the given shell command","inputSchema":{"properties":{"x":{"type":"string"}}}}`, "*"},
		"SQL, it says":        {"change_rows", `{"description":"Update rows","inputSchema":{"properties":{"query":{"type":"string","description":"SQL to use"}}}}`, "query"},
		"YAML":                {"put_thing", `{"inputSchema":{"properties":{"resource":{"type":"string","description":"The resource as JSON or YAML"}}}}`, "resource"},
		"a record's host":     {"set_record", `{"inputSchema":{"properties":{"target":{"type":"string","description":"IP address or host that it points to"}}}}`, "target"},
		"host in a read":      {"scan", `{"inputSchema":{"properties":{"target":{"type":"string","description":"IP address to scan"}}}}`, "target"},
		"a picture by URL":    {"update_page", `{"inputSchema":{"properties":{"icon":{"type":"string","description":"An emoji, or an external file (see https://docs.example)"}}}}`, "icon"},
		"source of an import": {"load", `{"inputSchema":{"properties":{"source":{"type":"string","description":"URL of the data"}}}}`, "source"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sinksOf(Fallback(definitionOf(t, c.tool, c.def))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWriteGuess(t *testing.T) {
	for short, want := range map[string]string{
		"write_file(path, content)":              "path",
		"move_file(source, destination)":         "destination",
		"git_clone(url, destination)":            "destination",
		"download_file(file_id, local_path)":     "local_path",
		"export_table(table, outputPath)":        "outputPath",
		"save_presentation(file_path)":           "file_path",
		"fetch_all(saveTo)":                      "saveTo",
		"delete_file(path)":                      "path",
		"read_file(path)":                        "",
		"upload_file(localPath)":                 "",
		"maps_directions(origin, destination)":   "",
		"run_tests(path)":                        "",
		"import_csv(inputPath)":                  "",
		"push_files(repo_path, branch)":          "",
		"move_email(id, folder)":                 "",
		"build(working_directory)":               "",
		"get_data(fileKey, path)":                "",
		"create_link(path)":                      "",
		"directory_tree(path)":                   "",
		"create_directory(path)":                 "path",
		"generate_report(output:enum, dest_dir)": "dest_dir",
	} {
		var got []string
		for _, s := range WriteGuess(tool(t, short)) {
			got = append(got, s.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", short, got, want)
		}
	}
	def := `{"inputSchema":{"properties":{"filename":{"type":"string","description":"%s"}}}}`
	for text, want := range map[string]int{
		"File to save the picture to": 1, "Where the output is stored on disk": 1,
		"File to upload": 0, "Loads the code from this file": 0,
	} {
		got := WriteGuess(definitionOf(t, "get_picture", strings.Replace(def, "%s", text, 1)))
		if len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Reading a definition must take no longer than its size: names beside a parameter are
// looked at for each of them.
func TestFallbackTimeIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"description":"` + strings.Repeat("a: b\\n", 1000) + `","inputSchema":{"type":"object","properties":{`)
	for i := range 6000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"domain` + strings.Repeat("x", i%7) + strings.Repeat("y", i/7%60) + strings.Repeat("z", i/420) +
			`_domain":{"type":"string","description":"` + strings.Repeat("of no kind at all, ", 2) + `"}`)
	}
	b.WriteString(`}}}`)
	def := definitionOf(t, "configure", b.String())
	start := time.Now()
	Fallback(def)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("%s for one definition of %d bytes", took, b.Len())
	} else {
		t.Logf("%s for %d bytes", took, b.Len())
	}
}
